import { canonicalTableName, readTableName } from '../../../fields/table-name.js'
import type { Json } from '../../../foundation/json.js'
import type { Path } from '../../yaml/located.js'
import { ANSWERS } from '../answers-model.js'
import { KEYS } from '../keys-model.js'
import { checkField, createValidator } from './check-fields.js'
import { checkRelations } from './check-relations.js'
import { checkIndexes } from './check-indexes.js'
import { checkFormerFields, checkFormerTables } from './check-former.js'
import { checkFieldName } from '../field-names.js'
import { columnOf, type Drafts, type ModelDraft } from '../drafts.js'
import { findValue } from '../../yaml/located.js'
import type { Report } from '../report.js'
import { show } from '../../words.js'
import { itemsOf, membersOf } from '../../schema/yaml-shape.js'

const MAX_NAME_BYTES = 63

/** Reserved tables, and their purposes. The index and the sequence of the journal have names that begin with its name. */
const OURS: readonly (readonly [name: RegExp, purpose: string])[] = [
  [/^snippetctl_migrations(?:_|$)/, 'the migration journal'],
  [new RegExp(`^${ANSWERS}$`), 'the responses stored for `idempotency`'],
  [new RegExp(`^${KEYS}$`), 'the API keys of `auth.keys`'],
]

/** Reports mistakes in the models, as far as their shape allows. */
export function checkModels(root: Json, drafts: Drafts, report: Report): void {
  const owners = checkTables(root, drafts, report)
  checkFormerTables(root, owners, report)
  const validate = createValidator()
  for (const model of drafts.values()) {
    if (model === undefined) continue
    for (const field of model.fields.values())
      if (field !== undefined)
        checkField(
          field,
          { isKey: model.keyNames.has(field.name), isWhole: model.keyNames.size === 1, isManaged: model.isManaged },
          { drafts, report, validate },
        )
    checkPrimaryKey(root, model, report)
    checkView(root, model, report)
    checkColumns(model, report)
    checkFormerFields(root, model, report)
    checkRelations(model, drafts, report)
    checkIndexes(root, model, { drafts, report, validate })
    checkMessageTexts(root, model, report)
  }
}

/** Reports tables that two models share; returns the model of each table. */
function checkTables(root: Json, drafts: Drafts, report: Report): ReadonlyMap<string, string> {
  const owners = new Map<string, string>()
  for (const name of drafts.keys()) {
    const given = findValue(root, ['models', name, 'table'])
    const path = ['models', name, ...(given === undefined ? [] : ['table'])]
    if (given !== undefined && report.isInvalid(path)) continue
    const written = String(given ?? name)
    const table = canonicalTableName(written) ?? written
    const owner = owners.get(table)
    const part = given === undefined ? 'key' : 'value'
    const [, purpose] = OURS.find(([ours]) => ours.test(table) || ours.test(name)) ?? []
    if (purpose !== undefined) {
      const message = `the table ${show(table)} is reserved for ${purpose}`
      const help = [
        OURS.some(([ours]) => ours.test(name)) ? 'give the model another name' : 'give the model another `table`',
      ]
      report.add({ code: 'SC308', path, part, message, help })
    } else if (owner === undefined) {
      owners.set(table, name)
      checkSchema(table, drafts.get(name), path, report)
    } else {
      const message = `the table ${show(table)} is already used by the model ${show(owner)}`
      report.add({ code: 'SC308', path, part, message, help: ['give one of the models another `table`'] })
    }
  }
  return owners
}

/** Reports names that PostgreSQL would truncate, and schemas in the names of managed tables: migrations create tables in one schema. */
function checkSchema(table: string, model: ModelDraft | undefined, path: Path, report: Report): void {
  const parts = readTableName(table)
  if (!parts) return
  for (const name of [parts.schema ?? '', parts.name]) {
    const length = Buffer.byteLength(name)
    if (length <= MAX_NAME_BYTES) continue
    const help = [`PostgreSQL keeps ${MAX_NAME_BYTES}`]
    report.add({ code: 'SC318', path, message: `the name ${show(name)} has ${length} bytes`, help })
  }
  if (parts.schema === undefined || model?.isOurs !== true) return
  const message = `migrations create tables in one schema, and ${show(table)} names another`
  const help = [
    'add `managed: false` if the table is created otherwise',
    'or leave the schema out: migrations use that of the connection',
  ]
  report.add({ code: 'SC304', path, message, help })
}

/** Keys that only tables can have. */
const NOT_FOR_VIEWS = ['indexes', 'renamed_from', 'dropped'] as const

/** Reports keys that a view cannot have. */
function checkView(root: Json, { name, path, isView, isOurs }: ModelDraft, report: Report): void {
  if (!isView) return
  for (const key of NOT_FOR_VIEWS.filter((each) => findValue(root, [...path, each]) !== undefined)) {
    const message = `${show(name)} cannot have both \`view\` and \`${key}\`: only tables have that`
    report.add({ code: 'SC304', path: [...path, key], part: 'key', message })
  }
  if (isOurs) return
  const message = `migrations create the view ${show(name)}, and \`managed\` is false`
  const help = ['remove `view` if the view is created otherwise', 'or say `managed: true` of the model']
  report.add({ code: 'SC304', path: [...path, 'view'], part: 'key', message, help })
}

function checkPrimaryKey(root: Json, model: ModelDraft, report: Report): void {
  const marked = [...model.fields.values()].filter((field) => field?.yaml.primary_key === true)
  const named = findValue(root, [...model.path, 'primary_key'])
  if (named !== undefined) {
    checkNamedKey(model, named, report)
    for (const field of marked) {
      if (field === undefined) continue
      const message = `the model ${show(model.name)} already declares its primary key in \`primary_key\``
      const help = ['remove one of the two']
      report.add({ code: 'SC302', path: [...field.path, 'primary_key'], part: 'key', message, help })
    }
    return
  }
  const [first, ...more] = marked
  for (const field of more) {
    if (field === undefined || first === undefined) continue
    const message = `the model ${show(model.name)} already has a primary key: ${show(first.name)}`
    const help = [
      `declare a key of several fields in the model: \`primary_key: [${first.name}, ${field.name}]\``,
      'for a unique combination there is an index with `unique: true`',
    ]
    report.add({ code: 'SC302', path: [...field.path, 'primary_key'], part: 'key', message, help })
  }
  const path = [...model.path, 'fields']
  if (first !== undefined || report.isInvalid(path) || report.isUncertain(path)) return
  const message = `the model ${show(model.name)} has no primary key`
  report.add({
    code: 'SC301',
    path: model.path,
    part: 'key',
    message,
    help: [
      'add a field such as `id: { type: bigint, primary_key: true }`, or name the fields of the key: `primary_key: [order, product]`',
      'for records without a key, which can only be listed, set `primary_key: none`',
    ],
  })
}

/** Reports names of a key that are unknown or repeated. */
function checkNamedKey(model: ModelDraft, named: Json, report: Report): void {
  const path = [...model.path, 'primary_key']
  if (report.isInvalid(path)) return
  const seen = new Set<string>()
  for (const [place, item] of itemsOf(named).entries()) {
    const name = String(item)
    const at = { path: [...path, place] }
    if (!checkFieldName(model, name, at, report)) continue
    if (seen.has(name)) report.add({ ...at, code: 'SC316', message: `${show(name)} appears twice in the primary key` })
    seen.add(name)
  }
}

/** The columns that every table has. A view can have others of these names. */
const SYSTEM_COLUMNS = new Set(['ctid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax'])

function checkColumns(model: ModelDraft, report: Report): void {
  const owners = new Map<string, string>()
  for (const field of model.fields.values()) {
    if (field === undefined) continue
    const column = columnOf(field)
    const owner = owners.get(column)
    owners.set(column, owner ?? field.name)
    const given = field.yaml.column !== undefined
    const place = given ? { path: [...field.path, 'column'] } : ({ path: field.path, part: 'key' } as const)
    if (model.isManaged && SYSTEM_COLUMNS.has(column)) {
      const message = `the column name ${show(column)} is reserved: PostgreSQL has a system column of that name in every table`
      report.add({ ...place, code: 'SC310', message, help: ['give the field another name'] })
    }
    if (owner !== undefined) {
      const message = `the fields ${show(owner)} and ${show(field.name)} share the column ${show(column)}`
      const help = given
        ? 'give one of them another `column`'
        : 'a relation is stored in the column of its name and `_id`'
      report.add({ ...place, code: 'SC310', message, help: [help] })
    }
    const length = Buffer.byteLength(column)
    if (length > MAX_NAME_BYTES) {
      const unit = given ? 'bytes' : 'characters'
      const message = `the column of ${show(field.name)} has ${length} ${unit}`
      const help = given ? `PostgreSQL keeps ${MAX_NAME_BYTES}` : `a relation's name has at most ${MAX_NAME_BYTES - 3}`
      report.add({ ...place, code: 'SC318', message, help: [help] })
    }
  }
}

/** Reports empty messages. */
function checkMessageTexts(root: Json, model: ModelDraft, report: Report): void {
  const path = [...model.path, 'messages']
  for (const [name, text] of membersOf(findValue(root, path))) {
    if (report.isInvalid([...path, name]) || String(text).trim() !== '') continue
    report.add({ code: 'SC207', path: [...path, name], message: `${show(name)} must not be empty text` })
  }
}
