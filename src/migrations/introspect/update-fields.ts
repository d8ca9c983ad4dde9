import { addField } from '../../config/edit/add-field.js'
import { commentField, setSetting } from '../../config/edit/edit-field.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Json } from '../../foundation/json.js'
import { asBase, type CatalogColumn, type CatalogTable, isFilled } from './catalog/catalog.js'
import type { ChosenField } from './choose/field-of-column.js'
import { freeName } from './choose/field-names.js'
import type { InspectedTable } from './catalog/inspect.js'
import { find } from '../plan/compare/pair.js'
import { declaredChoices } from '../plan/sql.js'
import { formatSettings } from './render-models.js'

/** A change to the text of a configuration. */
export interface Edit {
  readonly model: string
  readonly what: string
  /** Returns undefined if the text has no room for the change. */
  readonly apply: (text: string) => string | undefined
  /** The change to make if the configuration does not allow this one. */
  readonly otherwise?: Edit
}

/** A column that differs from its field. */
export interface Differing {
  readonly name: string
  readonly aspect: string | undefined
}

/** Makes the change for a file with a text. */
export type EditOf = (file: string, text: string) => Edit

/** The fields of a model that have a column of their own. */
export function withColumns({ fields }: ModelSpec): readonly FieldSpec[] {
  return fields.filter(({ joined }) => !joined)
}

/** Adds fields for new columns. */
export function newFields(model: ModelSpec, fields: readonly ChosenField[], live: CatalogTable): readonly EditOf[] {
  const known = new Set(withColumns(model).map(({ column }) => column))
  const used = new Set(model.fields.map(({ name }) => name))
  return fields
    .filter(({ column }) => !known.has(column))
    .map((field) => {
      const { name } = freeName([field.name], used)
      used.add(name)
      const words = field.words.filter(([key]) => name === field.name || key !== 'column')
      const said = name === field.name ? words : [...words, ['column', field.column] as const]
      const add = (settings: readonly string[], file: string): Edit => ({
        model: model.name,
        what: `${model.name}.${name}: added, for a new column: { ${settings.join(', ')} }`,
        apply: (text) => addField(text, file, { table: model.table, name, settings }),
      })
      const isKey = said.some(([key]) => key === 'primary_key' || key === 'key')
      const column = find(live.columns, field.column)
      return (file) => ({
        ...add(formatSettings(said), file),
        // The model already has a key, or declares `none`.
        ...(isKey && { otherwise: add(formatSettings(withoutKey(said, column)), file) }),
      })
    })
}

/** The settings for a key column whose field is not the key of its model. */
function withoutKey(words: ChosenField['words'], column: CatalogColumn | undefined): ChosenField['words'] {
  const others = words.filter(([key]) => !['primary_key', 'key', 'default', 'generated'].includes(key))
  if (!column || !isFilled(asBase(column))) return others
  const isComputed = column.identity === 'always' || column.generated !== null
  return [...others, isComputed ? ['generated', true] : ['default', { function: 'database' }]]
}

/** Turns the fields of columns that are gone into comments. */
export function goneFields(model: ModelSpec, { columns }: InspectedTable): readonly EditOf[] {
  const there = new Set(columns.map(({ name }) => name))
  return withColumns(model)
    .filter(({ column }) => !there.has(column))
    .map(({ name, column }) => {
      const reason = `the column ${JSON.stringify(column)} is gone`
      return (file) => ({
        model: model.name,
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
  'column_type',
  'collation',
  'model',
  'references',
  'on_delete',
  'column',
]
/** Settings that may be stricter than the column; they stay where the new type takes them. */
const OF_FILE = ['min', 'minimum', 'maximum', 'pattern', 'default']

/** Changes the fields whose column has another type, rule or foreign key. A foreign key that is gone changes nothing: a relation needs none. */
export function changedFields(
  model: ModelSpec,
  fields: readonly ChosenField[],
  differences: readonly Differing[],
): readonly EditOf[] {
  return withColumns(model).flatMap((field) => {
    const words = fields.find(({ column }) => column === field.column)?.words
    if (words === undefined) return []
    const said = new Map(withoutOthers(field, words))
    const own = differences.filter(({ name }) => name === field.column)
    const aspects = own.map(({ aspect }) => aspect)
    const keys = [
      ...(aspects.includes('type') || isOtherRelation(field, said) || lostChoices(field, said) ? OF_COLUMN : []),
      ...(aspects.includes('nullable') ? ['nullable'] : []),
      ...(aspects.includes('default') || aspects.includes('generated') ? ['key', 'default', 'generated'] : []),
    ]
    if (keys.length === 0) return []
    return [
      (file, text) => ({
        ...changeField(model, field, said, keys)(file, text),
        otherwise: changeField(model, field, said, [...new Set([...keys, ...OF_FILE])])(file, text),
      }),
    ]
  })
}

/**
 * The settings of the column of a field, with only those of its values that are choices of the field: it may leave out others on purpose, and nothing
 * tells a new value from a renamed one. The default stays a choice, and if all choices are gone, the field gets all values.
 */
function withoutOthers(field: FieldSpec, words: ChosenField['words']): ChosenField['words'] {
  const choices = declaredChoices(field)
  if (choices === undefined) return words
  const known = [...choices, words.find(([key]) => key === 'default')?.[1]]
  const keep = (value: Json): Json => {
    if (!Array.isArray(value) || !value.some((label) => choices.includes(String(label)))) return value
    return value.filter((label) => known.includes(label))
  }
  const keepIn = (settings: ChosenField['words']): ChosenField['words'] =>
    settings.map(([key, value]) => {
      if (key === 'items') return [key, Object.fromEntries(keepIn(Object.entries(value ?? {})))]
      return [key, key === 'choices' ? keep(value) : value]
    })
  return keepIn(words)
}

/** Whether a foreign key of the column is not the relation of its field. */
function isOtherRelation({ target }: FieldSpec, words: ReadonlyMap<string, Json>): boolean {
  if (words.get('type') !== 'belongs_to') return false
  if (!target) return true
  const { model, isKey, field, onDelete } = target
  const references = words.get('references')
  const isSame = model === words.get('model') && onDelete === (words.get('on_delete') ?? 'restrict')
  return !isSame || (references === undefined ? !isKey : field !== references)
}

/** Whether the enum of a column has a value that no choice can be. */
function lostChoices(field: FieldSpec, words: ReadonlyMap<string, Json>): boolean {
  return declaredChoices(field) !== undefined && words.get('type') === 'opaque'
}

/** Whether requests may send values of a field. */
type IsWritten = (field: FieldSpec) => boolean

/**
 * How fields allow the other values of their columns, and which of their choices the columns do not take. A field may leave out values on purpose, so its
 * choices stay.
 */
export function otherValues(model: ModelSpec, fields: readonly ChosenField[], isWritten: IsWritten): readonly string[] {
  return withColumns(model).flatMap((field) => {
    const choices = declaredChoices(field)
    const words = fields.find((each) => each.column === field.column)?.words ?? []
    const values = choicesIn(words)
    if (choices === undefined || values.length === 0) return []
    const said = formatSettings(words.filter(([key]) => key === 'choices' || key === 'items')).join(', ')
    const place = `${model.name}.${field.name}: the column`
    const others = quoted(values.filter((value) => !choices.includes(value)))
    const gone = quoted(choices.filter((choice) => !values.includes(choice)))
    return [
      ...(others === ''
        ? []
        : [`${place} also takes ${others}, which requests may not send; to allow that, write \`${said}\``]),
      ...(gone === '' || !isWritten(field)
        ? []
        : [`${place} does not take ${gone}, which requests may send; to reject that before, write \`${said}\``]),
    ]
  })
}

/** The settings that bound values, and the sign that makes a narrower bound the greater one. */
const BOUNDS = [
  ['min', 1],
  ['max', -1],
  ['minimum', 1],
  ['maximum', -1],
] as const

/** The fields whose columns take fewer values than requests may send, because of a check or a smaller type. */
export function narrowerColumns(
  model: ModelSpec,
  fields: readonly ChosenField[],
  isWritten: IsWritten,
): readonly string[] {
  return withColumns(model)
    .filter(isWritten)
    .flatMap(({ name, column, type, options }) => {
      const words = new Map(fields.find((each) => each.column === column)?.words ?? [])
      const given = new Map<string, unknown>(Object.entries(options))
      const isNarrower = (key: string, sign: number) => {
        const [now, before] = [words.get(key), given.get(key)]
        if (now === undefined || !(key in type.options)) return false
        return before === undefined || sign * (Number(now) - Number(before)) > 0
      }
      const narrower = BOUNDS.filter(([key, sign]) => isNarrower(key, sign)).map(([key]) => key)
      if (narrower.length === 0) return []
      const said = formatSettings(narrower.map((key) => [key, words.get(key) ?? null])).join(', ')
      return [
        `${model.name}.${name}: the column takes fewer values than requests may send; to reject the others before, write \`${said}\``,
      ]
    })
}

function quoted(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}

/** The choices of a field, or of the items of its lists. */
function choicesIn(words: ChosenField['words']): readonly string[] {
  const { choices, items } = Object.fromEntries(words)
  if (Array.isArray(choices)) return choices.map(String)
  return typeof items === 'object' && items !== null ? choicesIn(Object.entries(items)) : []
}

/** Changes the fields of a table whose column has become unique, or is it no longer. */
export function changedUniques(model: ModelSpec, fields: readonly ChosenField[]): readonly EditOf[] {
  return withColumns(model).flatMap((field) => {
    const words = fields.find(({ column }) => column === field.column)?.words
    if (words === undefined || field.primaryKey) return []
    const said = new Map(words)
    return said.has('unique') === field.unique ? [] : [changeField(model, field, said, ['unique'])]
  })
}

export function changeField(
  model: ModelSpec,
  field: FieldSpec,
  words: ReadonlyMap<string, Json>,
  keys: readonly string[],
): EditOf {
  const place = { model: model.name, field: field.name }
  const usual = field.target ? `${field.name}_id` : field.name
  const isNew = (key: string) => words.has(key) && (key !== 'column' || field.column === usual)
  const set = keys.filter(isNew).flatMap((key) => formatSettings([[key, words.get(key) ?? null]]))
  const setIn = (text: string, file: string, key: string) =>
    setSetting(text, file, place, { key, value: words.get(key) })
  return (file, before) => {
    const removed = keys.filter((key) => !words.has(key) && setIn(before, file, key) !== before)
    const changes = [...set, ...removed.map((key) => `no ${key}`)]
    return {
      model: model.name,
      what: `${model.name}.${field.name}: follows its column: ${changes.join(', ')}`,
      apply: (text) => keys.reduce<string | undefined>((each, key) => each && setIn(each, file, key), text),
    }
  }
}
