import fc from 'fast-check'
import { identifier } from '../../src/fields/sql-literal.js'
import type { Json } from '../../src/foundation/json.js'

interface Settings {
  [key: string]: Json | undefined
}

export interface Field extends Settings {
  type: string
  column?: string
  choices?: string[]
}

export interface Relation extends Settings {
  model: string
  fields: string[]
  references?: string[]
}

export interface Model {
  table?: string
  view?: string
  managed?: boolean
  renamed_from?: string
  dropped?: Json[]
  primary_key?: string | string[]
  fields: { [name: string]: Field }
  relations?: { [name: string]: Relation }
  indexes?: Json[]
}

export interface Resource extends Settings {
  model: string
  path: string
}

/** A configuration, as the YAML parser returns it. */
export interface Config {
  models: { [name: string]: Model }
  resources: { [name: string]: Resource }
  dropped?: Json[]
}

/** A change that a person makes to a configuration; numbers choose its place and its values. */
export interface Change {
  readonly kind: string
  readonly draws: readonly number[]
}

interface Place {
  readonly config: Config
  readonly name: string
  readonly model: Model
  /** Chooses one of the given values. */
  readonly pick: <T>(values: readonly T[]) => T
}

interface FieldPlace extends Place {
  readonly name: string
  readonly at: string
  readonly field: Field
}

/** Makes a change at a place. Returns false if the change does not apply there. */
type Edit<At> = (place: At) => boolean

const TYPES: readonly Field[] = [
  { type: 'text' },
  { type: 'text', collation: 'default' },
  { type: 'string', max: 100 },
  { type: 'string', max: 3, collation: 'default' },
  { type: 'integer' },
  { type: 'bigint' },
  { type: 'decimal', precision: 12, scale: 3 },
  { type: 'decimal' },
  { type: 'float' },
  { type: 'boolean' },
  { type: 'date' },
  { type: 'timestamp' },
  { type: 'local_timestamp' },
  { type: 'uuid' },
  { type: 'json' },
  { type: 'choice', choices: ['new', 'paid', 'sent', 'x'] },
  { type: 'choice', choices: ['sad', "it's", 'A b'], collation: 'default' },
  { type: 'array', items: { type: 'text' } },
]

/** The settings that a field keeps when its type changes. */
const KEPT = ['column', 'nullable', 'unique']

const DEFAULTS: Readonly<Record<string, readonly Json[]>> = {
  text: ['a', "it's"],
  string: ['a', 'new'],
  integer: [1, 5],
  bigint: [1, 7],
  decimal: ['1', '2.50'],
  float: [1.5],
  boolean: [true, false],
  date: ['2024-01-01'],
  uuid: [{ function: 'uuid' }],
  timestamp: [{ function: 'now' }],
}

const BOUNDS: Readonly<Record<string, readonly [keys: readonly string[], values: readonly (Json | undefined)[]]>> = {
  string: [
    ['max', 'min'],
    [1, 5, 20, 50, 200, undefined],
  ],
  text: [
    ['max', 'min'],
    [1, 5, 40, 200, undefined],
  ],
  integer: [
    ['minimum', 'maximum'],
    [-10, 0, 1, 50, 100, 1000, undefined],
  ],
  bigint: [
    ['minimum', 'maximum'],
    [-10, 0, 1000, undefined],
  ],
  decimal: [
    ['minimum', 'maximum'],
    ['-5', '0', '0.5', '100', undefined],
  ],
  float: [
    ['minimum', 'maximum'],
    [-5, 0, 100, undefined],
  ],
  array: [['max'], [1, 3, undefined]],
}

const ACTIONS = ['restrict', 'cascade', 'set_null']

/** The column of a field. */
export const columnOf = (name: string, { column, type }: Field): string =>
  column ?? (type === 'belongs_to' ? `${name}_id` : name)

/** The table of a model that a migration made. */
export const tableOf = (name: string, { table = name }: Model): string => table

export const isTable = ({ view, managed }: Model): boolean => view === undefined && managed !== false

function isKey({ model, at }: FieldPlace): boolean {
  return [model.primary_key].flat().includes(at) || model.fields[at]?.['primary_key'] === true
}

/** Everything in a configuration that refers to other models. */
const referencesOf = ({ fields, relations = {} }: Model): readonly Settings[] => [
  ...Object.values(fields),
  ...Object.values(relations),
]

function isReferred({ config, name, at }: FieldPlace): boolean {
  const each = Object.values(config.models).flatMap(referencesOf)
  return each.some((one) => one['model'] === name && [one['references']].flat().includes(at))
}

const resourcesOf = ({ config, name }: Place): readonly [string, Resource][] =>
  Object.entries(config.resources).filter(([, { model }]) => model === name)

/** Replaces a name in every part of a value, also as a key. */
function renamed<T>(value: T, from: string, to: string): T {
  const quoted = (name: string) => JSON.stringify(name).slice(1, -1)
  const text = JSON.stringify(value).replaceAll(
    /"(-?)((?:[^"\\]|\\.)*)"/g,
    (all: string, sign: string, inner: string) => (inner === quoted(from) ? `"${sign}${quoted(to)}"` : all),
  )
  return JSON.parse(text) as T
}

function mentions(value: unknown, at: string): boolean {
  return JSON.stringify(renamed(value, at, `${at}?`)) !== JSON.stringify(value)
}

function set(settings: Settings, key: string, to: Json | undefined): boolean {
  if (to === undefined || settings[key] === to) delete settings[key]
  else settings[key] = to
  return true
}

function firstFree(names: readonly string[], { fields }: Model): string | undefined {
  return names.find((name) => !(name in fields))
}

function renameField(place: FieldPlace): boolean {
  const { config, name, model, at, field } = place
  const to = firstFree(['heading', 'fresh'], model)
  if (to === undefined || isReferred(place)) return false
  field['renamed_from'] = columnOf(at, field)
  delete field.column
  model.fields = Object.fromEntries(Object.entries(model.fields).map(([each, one]) => [each === at ? to : each, one]))
  if (model.indexes) model.indexes = renamed(model.indexes, at, to)
  if (model.primary_key) model.primary_key = renamed(model.primary_key, at, to)
  for (const relation of Object.values(model.relations ?? {})) relation.fields = renamed(relation.fields, at, to)
  for (const [resource, { model: kept, path, operations, ...rest }] of resourcesOf({ ...place, name }))
    config.resources[resource] = { model: kept, path, ...(operations && { operations }), ...renamed(rest, at, to) }
  return true
}

function dropField(place: FieldPlace): boolean {
  const { model, at } = place
  if (isKey(place) || isReferred(place) || Object.keys(model.fields).length < 2) return false
  delete model.fields[at]
  if (model.indexes) model.indexes = model.indexes.filter((index) => !mentions(index, at))
  for (const [name, { fields }] of Object.entries(model.relations ?? {}))
    if (fields.includes(at)) delete model.relations?.[name]
  if (Object.keys(model.relations ?? {}).length === 0) delete model.relations
  for (const [, resource] of resourcesOf(place))
    for (const [key, value] of Object.entries(resource)) {
      if (!Array.isArray(value) || key === 'operations') continue
      const others = value.filter((each) => !mentions(each, at))
      if (others.length === 0) delete resource[key]
      else resource[key] = others
    }
  return true
}

function addIndex({ model, at, field, pick }: FieldPlace): boolean {
  const where: Json = { [at]: field.choices ? pick(field.choices) : pick<Json>([null, { not: null }]) }
  const other = pick(Object.keys(model.fields))
  const index = pick<Json>([
    [at],
    { fields: [at], unique: true },
    { fields: [at], where },
    { fields: [other], unique: true, where },
  ])
  model.indexes = [...(model.indexes ?? []), index]
  return true
}

const ON_FIELDS: Readonly<Record<string, Edit<FieldPlace>>> = {
  renameField,
  dropField,
  addIndex,
  renameColumn: ({ at, field }) => {
    field['renamed_from'] = columnOf(at, field)
    field.column = 'Other Column'
    return true
  },
  retype: (place) => {
    const { model, at, field, pick } = place
    if (isKey(place)) return false
    const kept = Object.fromEntries(KEPT.flatMap((key) => (key in field ? [[key, field[key]]] : [])))
    const to: Field = { ...pick(TYPES), ...kept }
    if (columnOf(at, field) !== columnOf(at, to)) to.column = columnOf(at, field)
    model.fields[at] = to
    return true
  },
  addChoice: ({ field, pick }) => {
    const { choices } = field
    if (!choices) return false
    field.choices = pick([
      [...choices, 'extra'],
      ['first', ...choices],
      [...choices, "it's new", 'other'],
    ])
    return true
  },
  removeChoice: ({ field, pick }) => {
    if (!field.choices || field.choices.length < 2) return false
    const gone = pick(field.choices)
    field.choices = field.choices.filter((each) => each !== gone)
    return field['default'] === gone ? set(field, 'default', undefined) : true
  },
  renameChoice: ({ field, pick }) => {
    if (!field.choices) return false
    const gone = pick(field.choices)
    field.choices = field.choices.map((each) => (each === gone ? 'renamed' : each))
    if (field['default'] === gone) field['default'] = 'renamed'
    return true
  },
  bounds: ({ field, pick }) => {
    const [keys, values] = BOUNDS[field.type] ?? []
    return keys !== undefined && values !== undefined && set(field, pick(keys), pick(values))
  },
  precision: ({ field, pick }) => {
    if (field.type !== 'decimal') return false
    const [precision, scale] = pick([[8, 2], [12, 4], [20, 2], []])
    delete field['precision']
    delete field['scale']
    return precision === undefined || (set(field, 'precision', precision) && set(field, 'scale', scale))
  },
  required: (place) => !isKey(place) && set(place.field, 'nullable', true),
  unique: (place) => !isKey(place) && set(place.field, 'unique', true),
  defaulted: (place) => {
    const { field, pick } = place
    const values = field.choices ?? DEFAULTS[field.type]
    if (!values || isKey(place)) return false
    return set(field, 'default', pick([...values, undefined]))
  },
  collation: ({ field, pick }) =>
    ['text', 'string', 'choice'].includes(field.type) &&
    set(field, 'collation', pick(['default', 'und-x-icu', undefined])),
  removeIndex: ({ model, at }) => {
    const index = model.indexes?.findIndex((each) => mentions(each, at)) ?? -1
    return index >= 0 && model.indexes?.splice(index, 1) !== undefined
  },
  key: ({ model, at }) => {
    const { primary_key: key = 'none' } = model
    if (key === at || (Array.isArray(key) && key.includes(at))) return false
    for (const field of Object.values(model.fields)) delete field['primary_key']
    model.primary_key = key === 'none' ? [at] : [...[key].flat(), at]
    return true
  },
  onDelete: ({ field, pick }) => {
    if (field.type !== 'belongs_to') return false
    return set(field, 'on_delete', pick(ACTIONS.filter((each) => each !== (field['on_delete'] ?? 'restrict'))))
  },
}

/** The models that a relation can refer to by one field. */
const keyedModels = ({ models }: Config): readonly string[] =>
  Object.entries(models).flatMap(([name, { primary_key: key, view }]) =>
    view === undefined && (key === undefined || (key.length === 1 && key !== 'none')) ? [name] : [],
  )

const ON_MODELS: Readonly<Record<string, Edit<Place>>> = {
  renameTable: ({ name, model, pick }) => {
    model.renamed_from = tableOf(name, model)
    model.table = pick(['Other Table', 'fresh_table'])
    return true
  },
  newField: ({ model, pick }) => {
    const name = firstFree(['added', 'added_2', 'status'], model)
    const field: Field = { ...pick(TYPES) }
    const values = field.choices ?? DEFAULTS[field.type] ?? []
    const more = pick<Settings>([{ nullable: true }, { nullable: true, unique: true }, {}, { default: pick(values) }])
    if (name === undefined || ('default' in more && more['default'] === undefined)) return false
    model.fields[name] = { ...field, ...more, type: field.type }
    return true
  },
  newRelation: ({ config, model, pick }) => {
    const keyed = keyedModels(config)
    if (keyed.length === 0 || 'other' in model.fields) return false
    model.fields['other'] = { type: 'belongs_to', model: pick(keyed), on_delete: pick(ACTIONS), nullable: true }
    return true
  },
  newTable: ({ config, pick }) => {
    const keyed = keyedModels(config)
    if (keyed.length === 0 || 'brand_new' in config.models) return false
    const id: Field = { type: 'bigint', primary_key: true }
    const of: Field = { type: 'belongs_to', model: pick(keyed), nullable: true }
    config.models['brand_new'] = {
      fields: { id, of, label: pick([{ type: 'text' }, { type: 'choice', choices: ['a', 'b'] }]) },
    }
    config.resources['brand_new'] = { model: 'brand_new', path: '/brand-new/' }
    return true
  },
  dropTable: (place) => {
    const { config, name, model } = place
    const others = Object.entries(config.models).filter(([other]) => other !== name)
    if (others.length === 0 || others.some(([, each]) => referencesOf(each).some((one) => one['model'] === name)))
      return false
    for (const [resource] of resourcesOf(place)) delete config.resources[resource]
    delete config.models[name]
    config.dropped = [...(config.dropped ?? []), tableOf(name, model)]
    return true
  },
  newView: ({ config, name, model }) => {
    const found = Object.entries(model.fields).find(
      ([, { type }]) => !['belongs_to', 'opaque', 'json', 'array'].includes(type),
    )
    if (!found || 'report' in config.models) return false
    const [at, { type, ...settings }] = found
    const kept = ['max', 'length', 'precision', 'scale', 'choices', 'collation', 'bits']
    const rest = Object.fromEntries(Object.entries(settings).filter(([key]) => kept.includes(key)))
    const [column, table] = [columnOf(at, { type, ...settings }), tableOf(name, model)].map(identifier)
    config.models['report'] = {
      view: `select ${column} as shown, count(*) as n from ${table} group by 1`,
      primary_key: 'none',
      fields: { shown: { type, ...rest, nullable: true }, n: { type: 'bigint' } },
    }
    config.resources['report'] = { model: 'report', path: '/report/', operations: ['list'] }
    return true
  },
  viewQuery: ({ config: { models } }) => {
    const { report } = models
    if (report?.view === undefined) return false
    report.view = report.view.replace('count(*)', 'count(*) + 1')
    return true
  },
  dropView: ({ config: { models, resources } }) => {
    if (!models['report']) return false
    return delete models['report'] && delete resources['report']
  },
  /** Migrations create tables in one schema, so all are moved. */
  move: ({ config }) => {
    for (const [name, model] of Object.entries(config.models)) {
      if (!isTable(model)) continue
      model.renamed_from = tableOf(name, model)
      model.table = `other.${identifier(tableOf(name, model))}`
    }
    return true
  },
}

/** The most common changes, which have found most errors. */
const OFTEN = ['retype', 'addChoice', 'removeChoice', 'renameChoice', 'bounds', 'renameField', 'required', 'addIndex']

export const randomChange: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom(...Object.keys(ON_FIELDS), ...Object.keys(ON_MODELS), ...OFTEN),
  draws: fc.array(fc.nat(30), { minLength: 6, maxLength: 6 }),
})

interface Spot extends Pick<FieldPlace, 'name' | 'model'> {
  readonly of?: Pick<FieldPlace, 'at' | 'field'>
}

/** Makes a change at the first place where it applies, starting at the random place. Returns false if it applies nowhere. */
export function makeChange(config: Config, { kind, draws: [start = 0, ...draws] }: Change): boolean {
  const places = Object.entries(config.models).flatMap(([name, model]): readonly Spot[] => {
    if (!isTable(model)) return []
    const fields = Object.entries(model.fields).filter(([, { type }]) => type !== 'opaque')
    return kind in ON_MODELS ? [{ name, model }] : fields.map(([at, field]) => ({ name, model, of: { at, field } }))
  })
  return places.some((_, turn) => {
    const left = [...draws]
    const pick = <T>(values: readonly T[]): T => values[(left.shift() ?? 0) % values.length] as T
    const place = places[(start + turn) % places.length]
    if (!place) return false
    const { name, model, of } = place
    const all = { config, name, model, pick }
    return of ? ON_FIELDS[kind]?.({ ...all, ...of }) === true : ON_MODELS[kind]?.(all) === true
  })
}
