import type { Json } from '../../json.js'
import type { CatalogColumn, CatalogConstraint, CatalogTable } from './catalog.js'
import { type Demand, demandOfType, joinDemands, readCheck, readDefault } from './constraint-parser.js'
import { isPlainIndex, isPlainUnique } from './sayable.js'

/** A field for a column that is there. */
export interface ChosenField {
  readonly name: string
  readonly column: string
  /** What stands in resources.yaml, in order. */
  readonly words: readonly (readonly [key: string, value: Json])[]
  /** What the column has and the words do not say. */
  readonly left: readonly string[]
}

type Words = ChosenField['words']
type Said = Readonly<{ words: Words; keys: readonly (keyof Demand)[] }>

interface Role {
  readonly key: boolean
  readonly relation: { readonly name: string; readonly model: string; readonly onDelete: string } | undefined
}

/** Chooses the field for a column that a field can stand for. */
export function chooseField(table: CatalogTable, column: CatalogColumn, { key, relation }: Role): ChosenField {
  const place = `${table.name}.${column.name}`
  const checks = table.constraints.filter((each) => each.kind === 'check' && each.columns.join() === column.name)
  const said = relation ? relationWords(relation) : wordsFor(column, key ? [] : checks)
  const unsaid = checks.filter((check) => !isSaid(check, column, said))
  const value = key ? { words: [], left: [] } : defaultWords(column, said.words)
  return {
    name: relation?.name ?? column.name,
    column: column.name,
    words: [
      ...said.words,
      ...(key ? [['primary_key', true] as const] : []),
      ...(column.nullable ? [['nullable', true] as const] : []),
      ...(!key && isUnique(table, column.name) ? [['unique', true] as const] : []),
      ...value.words,
    ],
    left: [
      ...unsaid.map(({ name, definition }) => `${place}: the check ${name} stays as it is: ${definition}`),
      ...value.left.map((text) => `${place}: ${text}`),
    ],
  }
}

/** A check of which the words would say only a part stays as it is, and they say nothing of it. */
function wordsFor(column: CatalogColumn, checks: readonly CatalogConstraint[]): Said {
  const read = checks.flatMap((check) => (check.validated && readCheck(check.definition, column)) || [])
  const words = (demands: readonly Demand[]) => typeWords(column, joinDemands([demandOfType(column), ...demands]))
  // Choices leave no room for other words.
  const simple = read.filter(({ choices, ...others }) => choices === undefined || Object.keys(others).length === 0)
  return words(simple.filter((demand) => isWithin(demand, words(simple))))
}

const isWithin = (demand: Demand, { keys }: Said): boolean =>
  Object.keys(demand).every((key) => keys.includes(key as keyof Demand))

function isSaid(check: CatalogConstraint, column: CatalogColumn, said: Said): boolean {
  const demand = check.validated ? readCheck(check.definition, column) : undefined
  return demand !== undefined && isWithin(demand, said)
}

function isUnique(table: CatalogTable, column: string): boolean {
  return (
    table.constraints.some((each) => each.kind === 'unique' && each.columns.join() === column && isPlainUnique(each)) ||
    table.indexes.some((each) => each.columns.join() === column && isPlainIndex(table.name, each, 'unique'))
  )
}

function relationWords({ model, onDelete }: NonNullable<Role['relation']>): Said {
  const action: Words = onDelete === 'restrict' ? [] : [['on_delete', onDelete]]
  return { words: [['type', 'belongs_to'], ['model', model], ...action], keys: [] }
}

function typeWords(column: CatalogColumn, demand: Demand): Said {
  const { choices } = demand
  if (column.labels || (choices && choices.length > 0 && fits(choices, column.type))) {
    const words: Words = [
      ['type', 'choice'],
      ['choices', choices ?? []],
      ...(column.labels ? [] : collationWords(column)),
    ]
    return { words, keys: ['choices'] }
  }
  const found = TYPES.flatMap(([pattern, words]) => {
    const sizes = pattern.exec(column.type)
    return sizes ? [words(demand, sizes.slice(1).map(Number), column)] : []
  })[0]
  if (!found) throw new Error(`no field has the type ${column.type}`)
  return found
}

function fits(choices: readonly string[], type: string): boolean {
  const room = /\((\d+)\)/.exec(type)?.[1]
  return room === undefined || choices.every((choice) => choice.length <= Number(room))
}

/** Text is kept by code point unless the file says otherwise. */
function collationWords({ collation }: CatalogColumn): Words {
  return collation === 'C' ? [] : [['collation', collation ?? 'default']]
}

const bounds = (demand: Demand, spell: (text: string) => Json): Said => {
  const { minimum, maximum } = demand
  return {
    words: [
      ...(minimum === undefined ? [] : [['minimum', spell(minimum)] as const]),
      ...(maximum === undefined ? [] : [['maximum', spell(maximum)] as const]),
    ],
    keys: ['minimum', 'maximum'],
  }
}

const wholeNumber = (text: string): Json => (Number.isSafeInteger(Number(text)) ? Number(text) : text)

const lengths = ({ min, max }: Demand, keys: readonly ('min' | 'max')[]): Said => ({
  words: [
    ...(keys.includes('min') && min !== undefined ? [['min', min] as const] : []),
    ...(keys.includes('max') && max !== undefined ? [['max', max] as const] : []),
  ],
  keys,
})

const typed = (words: Words, said?: Said, after: Words = []): Said => ({
  words: [...words, ...(said?.words ?? []), ...after],
  keys: said?.keys ?? [],
})

type Spell = (demand: Demand, sizes: readonly number[], column: CatalogColumn) => Said

const TYPES: readonly (readonly [type: RegExp, words: Spell])[] = [
  [/^text$/, (demand, _, column) => typed([['type', 'text']], lengths(demand, ['min', 'max']), collationWords(column))],
  [
    /^character varying$/,
    (demand, _, column) => typed([['type', 'string']], lengths(demand, ['min']), collationWords(column)),
  ],
  [
    /^character varying\((\d+)\)$/,
    (demand, [max = 0], column) =>
      typed([['type', 'string']], lengths(demand, ['min']), [['max', max], ...collationWords(column)]),
  ],
  [/^(?:smallint|integer)$/, (demand) => typed([['type', 'integer']], bounds(demand, wholeNumber))],
  [/^bigint$/, (demand) => typed([['type', 'bigint']], bounds(demand, wholeNumber))],
  [
    /^numeric\((\d+),(\d+)\)$/,
    (demand, [precision = 1, scale = 0]) =>
      typed(
        [
          ['type', 'decimal'],
          ['precision', precision],
          ['scale', scale],
        ],
        bounds(demand, String),
      ),
  ],
  [/^(?:real|double precision)$/, (demand) => typed([['type', 'float']], bounds(demand, Number))],
  [/^boolean$/, () => typed([['type', 'boolean']])],
  [/^date$/, () => typed([['type', 'date']])],
  [/^timestamp/, () => typed([['type', 'timestamp']])],
  [/^uuid$/, () => typed([['type', 'uuid']])],
  [/^jsonb$/, () => typed([['type', 'json']])],
]

function defaultWords(
  column: CatalogColumn,
  words: Words,
): { readonly words: Words; readonly left: readonly string[] } {
  if (column.default === null || column.default.startsWith('NULL::')) return { words: [], left: [] }
  const found = readDefault(column.default, column)
  const choices = words.find(([key]) => key === 'choices')?.[1]
  const fitting = !found || 'call' in found || !Array.isArray(choices) || choices.includes(found.literal)
  if (!found || !fitting) return { words: [], left: [`its default stays as it is: ${column.default}`] }
  return { words: [['default', 'call' in found ? { function: found.call } : found.literal]], left: [] }
}
