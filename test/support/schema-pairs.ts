import fc from 'fast-check'
import type { Json } from '../../src/foundation/json.js'

/** The fields of a model, by name. */
export type Fields = { readonly [name: string]: Json }
type Definition = { readonly [key: string]: Json }

/** The models of a configuration, and the tables that may be dropped. */
export interface Schema {
  readonly models: { readonly [name: string]: Json }
  readonly dropped: readonly string[]
}

const MODELS = ['author', 'book', 'shelf']
const FIELDS = ['ada', 'bob', 'cleo', 'dan', 'eve', 'fay']

const flags = fc.record({ nullable: fc.boolean(), unique: fc.boolean() })
const maybe = (key: string, ...values: readonly Json[]) =>
  fc
    .option(fc.constantFrom(...values), { nil: undefined })
    .map((value) => (value === undefined ? {} : { [key]: value }))
const all = (...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<Definition> =>
  fc.tuple(...parts).map((each) => Object.assign({}, ...each) as Definition)
const typed = (type: string, ...parts: readonly fc.Arbitrary<object>[]) => all(fc.constant({ type }), flags, ...parts)

const definition: fc.Arbitrary<Definition> = fc.oneof(
  typed('string', maybe('min', 1, 2), maybe('max', 10, 100), maybe('collation', 'POSIX'), maybe('default', 'abc')),
  typed('text', maybe('min', 1), maybe('max', 50), maybe('pattern', '^[a-z]+$'), maybe('default', 'abc')),
  typed('integer', maybe('minimum', 0, 1), maybe('maximum', 9, 99), maybe('default', 5, 7)),
  typed('bigint', maybe('minimum', 0), maybe('default', 5)),
  typed('decimal', fc.constantFrom({ precision: 10, scale: 2 }, { precision: 12, scale: 4 }), maybe('default', '1.5')),
  typed('decimal', maybe('minimum', '0.5'), maybe('default', '1.50')),
  typed('binary', maybe('max', 9, 99), maybe('default', 'YWI=')),
  typed(
    'array',
    fc.constantFrom<object>({ items: { type: 'string', max: 9 } }, { items: { type: 'integer', nullable: true } }),
    maybe('max', 3),
    maybe('default', []),
  ),
  typed('float', maybe('bits', 32), maybe('maximum', 9), maybe('default', 1.5)),
  typed('interval', maybe('default', 'P1D')),
  typed('inet', maybe('default', '10.0.0.1')),
  typed('boolean', maybe('default', true, false)),
  typed('date'),
  typed('timestamp', maybe('auto', 'on_create')),
  typed('uuid', maybe('default', { function: 'uuid' })),
  typed('choice', fc.constantFrom({ choices: ['x', "y's"] }, { choices: ['x', 'a\\b'] }), maybe('default', 'x')),
  fc.constantFrom({ type: 'json', nullable: true }, { type: 'json', max: 20, nullable: true }),
  fc
    .tuple(fc.constantFrom(...MODELS), fc.constantFrom('restrict', 'cascade', 'set_null'))
    .map(([model, on_delete]) => ({ type: 'belongs_to', model, on_delete, nullable: true })),
)

const model = fc.record({
  key: fc.constantFrom('integer', 'bigint'),
  fields: fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), definition), {
    selector: ([name]) => name,
    maxLength: 5,
  }),
  /** Whether it has a unique combination that relations can refer to. */
  placed: fc.boolean(),
  /** What a relation over two fields refers to. */
  place: fc.option(fc.tuple(fc.constantFrom(...MODELS), fc.constantFrom('restrict', 'cascade', 'set_null'))),
  indexes: fc.array(fc.tuple(fc.subarray(FIELDS, { minLength: 1, maxLength: 2 }), fc.boolean()), { maxLength: 2 }),
})

const schema = fc.uniqueArray(fc.tuple(fc.constantFrom(...MODELS), model), {
  selector: ([name]) => name,
  maxLength: 3,
})

type Drawn = readonly (readonly [
  string,
  {
    key: string
    fields: [string, Definition][]
    placed: boolean
    place: [model: string, on_delete: string] | null
    indexes: [string[], boolean][]
  },
])[]

const NUMBER = { type: 'integer', nullable: true }

/** Removes references to missing models and fields from generated models. */
function settle(drawn: Drawn): { readonly [name: string]: Definition } {
  const names = new Set(drawn.map(([name]) => name))
  const places = new Set(drawn.flatMap(([name, { placed }]) => (placed ? [name] : [])))
  return Object.fromEntries(
    drawn.map(([name, { key, fields, placed, place, indexes }]) => {
      const [target, on_delete = 'restrict'] = place !== null && places.has(place[0]) ? place : []
      const kept = fields.filter(([, field]) => field['type'] !== 'belongs_to' || names.has(String(field['model'])))
      const seen = new Set<string>()
      const usable = indexes.filter(([columns]) => {
        const known = columns.every((column) => kept.some(([field, { type }]) => field === column && type !== 'json'))
        return known && !seen.has(columns.join()) && seen.add(columns.join())
      })
      const value = {
        table: `${name}s`,
        fields: {
          id: { type: key, primary_key: true },
          ...Object.fromEntries(kept),
          ...(placed && { gil: NUMBER, hal: NUMBER }),
          ...(target !== undefined && { ira: NUMBER, joy: NUMBER }),
        },
        ...(target !== undefined && {
          relations: { place: { model: target, fields: ['ira', 'joy'], references: ['gil', 'hal'], on_delete } },
        }),
        indexes: [
          ...usable.map(([columns, unique]) => ({ fields: columns, unique })),
          ...(placed ? [{ fields: ['gil', 'hal'], unique: true }] : []),
        ],
      }
      return [name, value]
    }),
  )
}

const fieldsOf = (value: Definition | undefined): Fields => (value?.['fields'] ?? {}) as Fields
const columnOf = (name: string, field: Json | undefined): string =>
  (field as Definition | undefined)?.['type'] === 'belongs_to' ? `${name}_id` : name

/** Declares for each removed column, by the coins, whether it was renamed or may be dropped. */
function declareFields(old: Definition | undefined, now: Definition, coins: readonly boolean[]): Definition {
  if (old === undefined) return now
  const [before, after] = [fieldsOf(old), fieldsOf(now)]
  const columns = (fields: Fields) => Object.entries(fields).map(([name, field]) => columnOf(name, field))
  const [had, has] = [columns(before), columns(after)]
  const gone = had.filter((column) => !has.includes(column))
  const fresh = Object.keys(after).filter((name) => !had.includes(columnOf(name, after[name])))
  const renamed = new Map(fresh.flatMap((name, at) => (coins[at] && gone[at] ? [[name, gone[at]] as const] : [])))
  const dropped = gone.filter((column) => ![...renamed.values()].includes(column))
  const fields = Object.fromEntries(
    Object.entries(after).map(([name, field]) => {
      const from = renamed.get(name)
      return [name, from === undefined ? field : { ...(field as Definition), renamed_from: from }]
    }),
  )
  return { ...now, fields, ...(dropped.length > 0 && { dropped }) }
}

/** Two schemas; the second one declares its renames and drops. */
export const schemaPairs: fc.Arbitrary<readonly [Schema, Schema]> = fc
  .tuple(schema, schema, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }))
  .map(([one, other, coins]) => {
    const [from, to] = [settle(one), settle(other)]
    const gone = Object.keys(from).filter((name) => !(name in to))
    const fresh = Object.keys(to).filter((name) => !(name in from))
    const heirs = new Map(fresh.flatMap((name, at) => (coins[at] && gone[at] ? [[name, gone[at]] as const] : [])))
    const models = Object.fromEntries(
      Object.entries(to).map(([name, value]) => {
        const heir = heirs.get(name)
        const declared = declareFields(from[heir ?? name], value, coins)
        return [name, heir === undefined ? declared : { ...declared, renamed_from: `${heir}s` }]
      }),
    )
    const dropped = gone.filter((name) => ![...heirs.values()].includes(name)).map((name) => `${name}s`)
    return [
      { models: from, dropped: [] },
      { models, dropped },
    ]
  })
