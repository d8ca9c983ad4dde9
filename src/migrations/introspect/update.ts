import { commentField, setSetting } from '../../config/edit/edit-field.js'
import { addField } from '../../config/edit/add-field.js'
import type { AppSpec, FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import type { Json } from '../../json.js'
import { differencesOfOthers } from '../drift/tables-of-others.js'
import { readLacks } from '../drift/verify.js'
import type { Catalog } from './catalog.js'
import { chooseModels } from './choose.js'
import type { ChosenField } from './field-of-column.js'
import { freeName } from './field-names.js'
import type { InspectedTable, SchemaInspection } from './inspect.js'
import { spellSettings } from './render-models.js'
import { specOfText, tryText } from './spec-of-text.js'

interface Current {
  readonly file: string
  readonly text: string
  readonly spec: AppSpec
  readonly inspected: SchemaInspection
  readonly catalog: Catalog
  readonly tables?: readonly string[] | undefined
}

/** A configuration that follows the tables of others. */
interface Updated {
  readonly text: string
  /** The changes to the text, one sentence each. */
  readonly changes: readonly string[]
  /** Differences that the text still has, one sentence each. */
  readonly remaining: readonly string[]
}

/** A change to the text. */
interface Edit {
  readonly what: string
  /** Returns undefined if the text has no room for the change. */
  readonly apply: (text: string) => string | undefined
  /** The change to make if the configuration does not allow this one. */
  readonly otherwise?: Edit
}

/**
 * Makes the models of others' tables follow the database: new columns get fields, fields of columns that are gone become comments, and settings that
 * do not fit their column are replaced. A change that would break the configuration is not made, and is reported.
 */
export async function updateModels(database: Database, current: Current): Promise<Updated> {
  const edits = await editsFor(database, current)
  const changes: string[] = []
  const impossible: string[] = []
  let { text } = current
  for (const edit of edits) {
    const done = attempt(text, current.file, edit)
    if ('reason' in done) impossible.push(`not written: ${edit.what}, because ${done.reason}`)
    else {
      text = done.text
      changes.push(done.what)
    }
  }
  const after = selected(specOfText(text, current.file), current.tables)
  const differences = await differencesOfOthers(after, database)
  return { text, changes, remaining: [...impossible, ...differences.map(({ message }) => message)] }
}

/** Makes a change, or its substitute, if the configuration stays valid. */
function attempt(
  text: string,
  file: string,
  { what, apply, otherwise }: Edit,
): { readonly text: string; readonly what: string } | { readonly reason: string } {
  const written = apply(text)
  const result = written === undefined ? ['the file has no room for it'] : tryText(written, file)
  if (written !== undefined && 'models' in result) return { text: written, what }
  if (otherwise) return attempt(text, file, otherwise)
  return { reason: 'models' in result ? '' : (result[0] ?? '') }
}

/** The configuration without the models of other tables. */
function selected(spec: AppSpec, tables: readonly string[] | undefined): AppSpec {
  return tables ? { ...spec, models: spec.models.filter(({ table }) => tables.includes(table)) } : spec
}

async function editsFor(
  database: Database,
  { file, spec, inspected, catalog, tables }: Current,
): Promise<readonly Edit[]> {
  const { models } = selected(spec, tables)
  const followed = models.filter(({ managed }) => !managed)
  const { lacks } = await readLacks({ ...spec, models: followed }, database)
  const fresh = chooseModels(inspected, catalog, {
    existing: new Map(spec.models.map(({ table, name }) => [table, name])),
    only: followed.map(({ table }) => table),
    managed: false,
    again: true,
  })
  return followed.flatMap((model) => {
    const now = fresh.models.find(({ table }) => table === model.table)
    const there = inspected.tables.find(({ name }) => name === model.table)
    if (!now || !there) return []
    const differing = lacks.flatMap(({ table, column }) => (column && table === model.table ? [column] : []))
    return [
      ...changedFields(model, now.fields, differing).map((edit) => edit(file)),
      ...newFields(model, now.fields).map((edit) => edit(file)),
      ...goneFields(model, there).map((edit) => edit(file)),
    ]
  })
}

/** A column that differs from its field. */
interface Differing {
  readonly name: string
  readonly aspect: string | undefined
}

type EditOf = (file: string) => Edit

/** The fields of a model that have a column of their own. */
const withColumns = ({ fields }: ModelSpec): readonly FieldSpec[] => fields.filter(({ joined }) => !joined)

function newFields(model: ModelSpec, fields: readonly ChosenField[]): readonly EditOf[] {
  const known = new Set(withColumns(model).map(({ column }) => column))
  const used = new Set(model.fields.map(({ name }) => name))
  return fields
    .filter(({ column }) => !known.has(column))
    .map((field) => {
      const { name } = freeName([field.name], used)
      used.add(name)
      const words = field.words.filter(([key]) => name === field.name || key !== 'column')
      const said = name === field.name ? words : [...words, ['column', field.column] as const]
      const settings = spellSettings(said)
      return (file) => ({
        what: `${model.name}.${name}: added, for a new column: { ${settings.join(', ')} }`,
        apply: (text) => addField(text, file, { table: model.table, name, settings }),
      })
    })
}

function goneFields(model: ModelSpec, { columns }: InspectedTable): readonly EditOf[] {
  const there = new Set(columns.map(({ name }) => name))
  return withColumns(model)
    .filter(({ column }) => !there.has(column))
    .map(({ name, column }) => {
      const reason = `the column ${JSON.stringify(column)} is gone`
      return (file) => ({
        what: `${model.name}.${name}: commented out: ${reason}`,
        apply: (text) => commentField(text, file, { model: model.name, field: name }, reason),
      })
    })
}

/** Settings that say what the type of the column holds. */
const OF_COLUMN = [
  'type',
  'bits',
  'max',
  'length',
  'precision',
  'scale',
  'choices',
  'items',
  'collation',
  'model',
  'references',
  'on_delete',
]
/** Settings that may be stricter than the column; they stay where the new type takes them. */
const OF_FILE = ['min', 'minimum', 'maximum', 'pattern', 'default']

function changedFields(
  model: ModelSpec,
  fields: readonly ChosenField[],
  differences: readonly Differing[],
): readonly EditOf[] {
  return withColumns(model).flatMap((field) => {
    const words = fields.find(({ column }) => column === field.column)?.words
    const own = differences.filter(({ name }) => name === field.column)
    const aspects = own.map(({ aspect }) => aspect)
    const keys = [
      ...(aspects.includes('type') ? OF_COLUMN : []),
      ...(aspects.includes('nullable') ? ['nullable'] : []),
      ...(aspects.includes('default') ? ['default', 'generated'] : []),
    ]
    if (words === undefined || keys.length === 0) return []
    const said = new Map(words)
    return [
      (file: string) => ({
        ...changeField(model, field, said, keys)(file),
        otherwise: changeField(model, field, said, [...new Set([...keys, ...OF_FILE])])(file),
      }),
    ]
  })
}

function changeField(
  model: ModelSpec,
  field: FieldSpec,
  words: ReadonlyMap<string, Json>,
  keys: readonly string[],
): EditOf {
  const place = { model: model.name, field: field.name }
  const set = keys.flatMap((key) => spellSettings(words.has(key) ? [[key, words.get(key) ?? null]] : []))
  const hadSetting = (key: string) =>
    key in field.options || (key === 'nullable' && field.nullable) || (key === 'default' && field.default !== undefined)
  const removed = keys.filter((key) => !words.has(key) && hadSetting(key)).map((key) => `no ${key}`)
  return (file) => ({
    what: `${model.name}.${field.name}: follows its column: ${[...set, ...removed].join(', ')}`,
    apply: (text) =>
      keys.reduce<string | undefined>(
        (before, key) => before && setSetting(before, file, place, { key, value: words.get(key) }),
        text,
      ),
  })
}
