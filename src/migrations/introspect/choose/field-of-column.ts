import { formatValue } from '../../../config/edit/format-value.js'
import { formOf, keyTypeOf } from '../../../fields/columns.js'
import type { Limits } from '../../../fields/existing-column.js'
import type { AssignedKey } from '../../../fields/field-type.js'
import { fieldType } from '../../../fields/index.js'
import { isCollationName } from '../../../fields/text-rules.js'
import type { CatalogColumn, CatalogConstraint, CatalogTable } from '../catalog/catalog.js'
import { type TypeWords, type Words, wordsForDefault, wordsForType } from './column-words.js'
import { followsRules, readCheck, readDefault } from '../catalog/constraint-parser.js'
import { adviceForMessage, NO_PLAN } from './advice.js'
import { assignedBy } from './choose-key.js'
import { freeName } from './field-names.js'
import { isOpaque } from '../catalog/representable.js'
import { isOnly, isUnique } from '../catalog/plain-parts.js'

/** A field for an existing column. */
export interface ChosenField {
  readonly name: string
  readonly column: string
  /** The settings in resources.yaml, in order. */
  readonly words: Words
  /** The parts of the column that the settings do not express. */
  readonly left: readonly string[]
}

interface Role {
  readonly name: string
  /** Whether the column is the primary key of the model, or a part of it. */
  readonly key: 'whole' | 'part' | undefined
  readonly relation:
    | { readonly model: string; readonly references: string | undefined; readonly onDelete: string }
    | undefined
  /** Whether migrations of this project create the table. */
  readonly managed: boolean
  /** Whether a trigger sets the column on each change, or may fill it on each insert. */
  readonly trigger: 'sets' | 'may fill' | undefined
}

/** Chooses the field for a column that a field can describe. */
export function chooseField(
  table: CatalogTable,
  column: CatalogColumn,
  { name, key, relation, managed, trigger }: Role,
): ChosenField {
  const place = `${table.name}.${column.name}`
  const checks = table.constraints.filter((each) => each.kind === 'check' && isOnly(each.columns, column.name))
  const assigned = key && assignedBy(column)
  const all = relation ? relationWords(relation) : wordsFor(column, assigned ? [] : checks)
  const said = managed ? all : { ...all, words: wordsOfOthers(all.words, column) }
  const unsaid = checks.filter((check) => !isExpressed(check, column, said))
  const value = assigned
    ? { words: key === 'part' && !managed ? otherAssigned(assigned, column) : [], left: [] }
    : managed
      ? defaultWords(column)
      : { words: usedDefault(column, key ? undefined : trigger), left: [] }
  return {
    name,
    column: column.name,
    words: [
      ...said.words,
      ...(column.name === (relation ? `${name}_id` : name) ? [] : [['column', column.name] as const]),
      ...(key ? keyWords(key, column, assigned) : []),
      ...(column.nullable ? [['nullable', true] as const] : []),
      ...(key !== 'whole' && isUnique(table, column.name) ? [['unique', true] as const] : []),
      ...value.words,
    ],
    left: [
      ...(managed
        ? unsaid.map(
            ({ name: check, definition }) =>
              `${place}: the check ${check} stays as it is: ${definition}; ${adviceForMessage(check)}`,
          )
        : []),
      ...value.left.map((text) => `${place}: ${text}`),
      ...(column.labels?.includes('') && !column.type.endsWith('[]')
        ? [`${place}: ${aboutEmptyLabel(column.type, column.labels)}`]
        : []),
    ],
  }
}

/** Why an enum is opaque, and how its column gets a field with choices. */
function aboutEmptyLabel(type: string, labels: readonly string[]): string {
  const other = freeName(['none'], new Set(labels)).name
  const choices = formatValue(labels.map((label) => label || other))
  const rename = `alter type ${type} rename value '' to '${other}'`
  return `requests cannot set it: its enum has an empty value, and no choice is empty; after \`${rename}\` the field can have \`type: choice, choices: ${choices}\``
}

/** No migration makes the column, so its collation need not be declared, unless filters depend on it. */
function wordsOfOthers(words: Words, { equating }: CatalogColumn): Words {
  const isNamed = equating !== null && isCollationName(equating) && words.some(([word]) => word === 'collation')
  return [...withoutCollation(words), ...(isNamed ? [['collation', equating] as const] : [])]
}

function withoutCollation(words: Words): Words {
  return words
    .filter(([word]) => word !== 'collation')
    .map(([word, value]) => [
      word,
      word === 'items' ? Object.fromEntries(withoutCollation(Object.entries(value ?? {}))) : value,
    ])
}

/** A whole key is assigned by the server if its type can generate values, a part of a key is not; other cases need a setting. */
function keyWords(key: 'whole' | 'part', column: CatalogColumn, assigned: AssignedKey | undefined): Words {
  if (key === 'part') return assigned ? [['key', assigned]] : []
  const isUsual = assigned !== undefined || keyTypeOf(column)?.assigned === undefined
  return [['primary_key', true], ...(isUsual ? [] : ([['key', 'client']] as const))]
}

/** A UUID of the database that is not a random one, such as one that begins with a time. */
function otherAssigned(assigned: AssignedKey, column: CatalogColumn): Words {
  return assigned === 'uuid' && defaultWords(column).left.length > 0 ? OF_DATABASE : []
}

/** A check that the settings could express only in part stays as it is. */
function wordsFor(column: CatalogColumn, checks: readonly CatalogConstraint[]): TypeWords {
  const read = checks.flatMap((check) => (check.validated && readCheck(check.definition, column)) || [])
  // With choices, no other setting applies.
  const simple = read.filter(({ choices, ...others }) => choices === undefined || Object.keys(others).length === 0)
  const all = typeWords(column, simple)
  const said = typeWords(
    column,
    simple.filter((limits) => isWithin(limits, all)),
  )
  return isConsistent(column, said.words) ? said : { ...typeWords(column, []), expresses: [] }
}

/** Whether checks contradict neither each other, nor the type, nor the default of their column. */
function isConsistent(column: CatalogColumn, words: Words): boolean {
  const { type: name, ...options } = Object.fromEntries(words)
  const type = fieldType(String(name))
  if (!type || (type.conflicts?.(options) ?? []).length > 0) return false
  const value = column.default === null ? undefined : readDefault(column.default, column)
  return value === undefined || 'call' in value || followsRules(type, options, value.literal)
}

function typeWords(column: CatalogColumn, checks: readonly Limits[]): TypeWords {
  const words = wordsForType(column, checks)
  if (!words) throw new Error(`no field has the type ${column.type}`)
  return words
}

function isWithin(limits: Limits, { expresses }: TypeWords): boolean {
  return Object.keys(limits).every((key) => expresses.includes(key as keyof Limits))
}

function isExpressed(check: CatalogConstraint, column: CatalogColumn, said: TypeWords): boolean {
  const limits = check.validated ? readCheck(check.definition, column) : undefined
  return limits !== undefined && isWithin(limits, said)
}

function relationWords({ model, references, onDelete }: NonNullable<Role['relation']>): TypeWords {
  const field: Words = references === undefined ? [] : [['references', references]]
  const action: Words = onDelete === 'restrict' ? [] : [['on_delete', onDelete]]
  return { words: [['type', 'belongs_to'], ['model', model], ...field, ...action], expresses: [] }
}

const OF_DATABASE: Words = [['default', { function: 'database' }]]

/** The settings for an unmanaged column that the database fills: by computing it, or by a sequence, a default or a trigger. */
function usedDefault(column: CatalogColumn, trigger: Role['trigger']): Words {
  const isFilled = isOpaque(column) && !column.nullable && (column.default !== null || trigger !== undefined)
  if (column.generated || column.identity === 'always' || isFilled || trigger === 'sets') return [['generated', true]]
  if (column.identity !== null) return OF_DATABASE
  if (column.default === null || isOpaque(column)) return []
  const { words: found, left } = defaultWords(column)
  return left.length === 0 ? found : OF_DATABASE
}

function defaultWords(column: CatalogColumn): Pick<ChosenField, 'words' | 'left'> {
  const found = wordsForDefault(column.default, column)
  if (!found) {
    const until = column.nullable ? '' : '; until the field declares a default, requests must send a value'
    return { words: [], left: [`its default stays as it is: ${column.default}; ${NO_PLAN}${until}`] }
  }
  const remark = formOf(column)?.form.callRemark
  const isCall = found.some(([, value]) => typeof value === 'object')
  return { words: found, left: remark !== undefined && isCall ? [`its default ${column.default} ${remark}`] : [] }
}
