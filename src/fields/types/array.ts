import type { Json, JsonSchema } from '../../foundation/json.js'
import { itemSources, mapItems, readArray } from '../spelling/array-text.js'
import { arrayLiteral, type Cell, type Items, printCell, printItem, readCell, writeCell } from '../cell.js'
import type { ColumnForm, ExistingColumn } from '../existing-column.js'
import { exceeds, type FieldType, type Rule, type Typed } from '../field-type.js'
import { describedSchema, valueSchema } from '../value-schema.js'

interface ArrayOptions {
  /** The type of the items, its options, and whether items can be null. */
  readonly items: { readonly type: string; readonly nullable?: boolean }
  readonly min?: number
  readonly max?: number
}

/** More items than an API should have in one record, but fewer than PostgreSQL can store. */
const MAX_ITEMS = 1_000_000

const ARRAY = /^(.*)\[\]$/s
const COLLATE = / collate /

/**
 * The type of lists whose items are values of another type.
 * @param types the types that items can have
 */
export function arrayOf(types: readonly FieldType[]): FieldType<Items<unknown>, ArrayOptions> {
  const itemsOf = ({ items }: ArrayOptions): Typed => {
    const type = types.find(({ name }) => name === items.type)
    if (!type) throw new Error(`items of a type that was never checked: ${items.type}`)
    return { type, options: items }
  }
  return {
    name: 'array',
    synonyms: ['list'],
    summary:
      'A list of values of one type, given as `items`. The database enforces their type and their number; requests also have to meet the rules of ' +
      '`items`.',
    options: {
      items: {
        type: 'object',
        description: 'The type of the items and its options; `nullable: true` if items can be null.',
      },
      min: { type: 'integer', minimum: 0, maximum: MAX_ITEMS, description: 'The minimum number of items.' },
      max: { type: 'integer', minimum: 1, maximum: MAX_ITEMS, description: 'The maximum number of items.' },
    },
    required: ['items'],
    itemTypes: types,
    documented: (options) => ({ items: orNull(describedSchema(itemsOf(options)), options) }),
    typescript: 'readonly unknown[]',
    typescriptOf(options) {
      const { type, options: own } = itemsOf(options)
      const item = `${type.typescriptOf?.(own) ?? type.typescript}${options.items.nullable ? ' | null' : ''}`
      return item.includes(' ') ? `readonly (${item})[]` : `readonly ${item}[]`
    },
    comparisons: ['items'],
    orderable: false,
    key: false,
    items: itemsOf,
    examples: [
      {
        json: ['a,b', 'it\'s "{quoted}" \\ ', '', 'NULL', 'null'],
        text: '{"a,b","it\'s \\"{quoted}\\" \\\\ ","","NULL","null"}',
        value: ['a,b', 'it\'s "{quoted}" \\ ', '', 'NULL', 'null'],
        options: { items: { type: 'string', max: 40 }, max: 20 },
      },
      {
        json: [9007199254740992, null],
        source: '[9007199254740993, null]',
        text: '{"9007199254740993",NULL}',
        value: [9007199254740993n, null],
        options: { items: { type: 'bigint', nullable: true } },
      },
      {
        json: ['2026-11-21T12:00:00+02:00'],
        wire: ['2026-11-21T10:00:00.000000Z'],
        text: '{"2026-11-21T10:00:00.000000Z"}',
        value: ['2026-11-21T10:00:00.000000Z'],
        options: { items: { type: 'timestamp' } },
      },
      {
        json: [0, 2147483647],
        text: '{"0","2147483647"}',
        value: [0, 2147483647],
        options: { items: { type: 'integer', minimum: 0 }, min: 1 },
      },
    ],
    column(options) {
      const { type, options: own } = itemsOf(options)
      const [name = '', collation] = type.column(own).split(COLLATE)
      return `${name}[]${collation === undefined ? '' : ` collate ${collation}`}`
    },
    fromColumn: (column) => formOf(types, column),
    serves(column, options) {
      const item = itemOf(column)
      const { type, options: own } = itemsOf(options)
      return (
        item !== undefined && (type.column(own).split(COLLATE)[0] === item.type || type.serves?.(item, own) === true)
      )
    },
    samples: { columns: /\[\]$/, texts: ['{}'] },
    rules: (options) => rulesOf(options, itemsOf(options)),
    conflicts(options) {
      const { type, options: own } = itemsOf(options)
      const { min = 0, max } = options
      return [
        ...(type.conflicts?.(own) ?? []).map(({ message }) => ({ option: 'items', message })),
        ...(max !== undefined && min > max ? [exceeds('min', min, 'max', max)] : []),
      ]
    },
    admits(json, source, options) {
      const { type, options: own } = itemsOf(options)
      if (!type.admits) return undefined
      const sources = itemSources(source)
      const isWrong = (item: Json, at: number) =>
        item !== null && type.admits?.(item, sources[at] ?? '', own) !== undefined
      return (json as readonly Json[]).some(isWrong) ? 'items' : undefined
    },
    maxBytes(options) {
      const { type, options: own } = itemsOf(options)
      const longest = type.maxBytes(own)
      return options.max === undefined || longest === undefined
        ? undefined
        : options.max * (Math.max(longest, 4) + 1) + 2
    },
    longest: () => undefined,
    select: (column, options) => selectOf(column, itemsOf(options)),
    read(text, options) {
      const item = itemsOf(options)
      return readArray(text, (cell) => readCell(item, cell))
    },
    parse(text, options) {
      const { type, options: own } = itemsOf(options)
      const items = readIfArray(text, (cell) => (cell === null ? null : type.parse(cell, own)))
      return items?.includes(undefined) ? undefined : items
    },
    fromJson(json, source, options) {
      const { type, options: own } = itemsOf(options)
      const sources = itemSources(source)
      return (json as readonly Json[]).map((item, at) =>
        item === null ? null : type.fromJson(item, sources[at] ?? '', own),
      )
    },
    write(value, options) {
      const item = itemsOf(options)
      return arrayLiteral(mapItems(value, (each) => writeCell(item, each)))
    },
    print(value, options) {
      const item = itemsOf(options)
      return arrayLiteral(
        mapItems(value, (each) => (each === null ? null : printCell(item, each))),
        printItem,
      )
    },
  }
}

/** The items of an array column as a column of their own. */
function itemOf({ type, collation, labels }: ExistingColumn): ExistingColumn | undefined {
  const name = ARRAY.exec(type)?.[1]
  return name === undefined ? undefined : { type: name, collation, labels }
}

/** Other programs may store null in any array. */
function formOf(types: readonly FieldType[], column: ExistingColumn): ColumnForm | undefined {
  const item = itemOf(column)
  if (!item) return undefined
  for (const type of types) {
    const form = type.fromColumn?.(item)
    const options = form?.options(form.limits ?? {})
    if (!form || !options) continue
    const items = { type: type.name, ...options, nullable: true }
    return {
      comparison: { as: 'list' },
      expresses: ['min', 'max'],
      options: ({ min, max }) => ({ items, ...(min !== undefined && { min }), ...(max !== undefined && { max }) }),
      literal: (text) => literalOf(text, form),
    }
  }
  return undefined
}

function literalOf(text: string, form: ColumnForm): Json | undefined {
  const items = readIfArray(text, (cell) => (cell === null ? null : form.literal?.(cell)))
  return items?.includes(undefined) ? undefined : (items as Json | undefined)
}

/** The items of an array's text; undefined for any other text. */
function readIfArray<Item>(text: string, read: (cell: Cell) => Item): Items<Item> | undefined {
  try {
    return readArray(text, read)
  } catch {
    return undefined
  }
}

function orNull(schema: JsonSchema, { items }: ArrayOptions): JsonSchema {
  return items.nullable ? { anyOf: [schema, { type: 'null' }] } : schema
}

function rulesOf(options: ArrayOptions, item: Typed): readonly Rule[] {
  const { min = 0, max, items } = options
  const rules = item.type.rules(item.options).map(({ message }) => message)
  const count = lengthMessage(min, max)
  return [
    { name: 'type', schema: { type: 'array' }, message: 'must be a list' },
    {
      name: 'items',
      schema: { items: orNull(valueSchema(item), options) },
      message: `must be a list in which each item ${rules.join(', ')}`,
      ...(items.nullable ? {} : { check: hasNoNull }),
    },
    ...(count === undefined
      ? []
      : [
          {
            name: 'length',
            schema: { ...(min > 0 && { minItems: min }), ...(max !== undefined && { maxItems: max }) },
            message: count,
            check: (column: string) =>
              [
                ...(min > 0 ? [`cardinality(${column}) >= ${min}`] : []),
                ...(max === undefined ? [] : [`cardinality(${column}) <= ${max}`]),
              ].join(' and '),
          },
        ]),
  ]
}

/** `array_position` accepts only one-dimensional arrays. */
function hasNoNull(column: string): string {
  return `case when array_ndims(${column}) > 1 then false else array_position(${column}, null) is null end`
}

function lengthMessage(min: number, max: number | undefined): string | undefined {
  const items = (count: number) => `${count} ${count === 1 ? 'item' : 'items'}`
  if (max === undefined) return min > 0 ? `must have at least ${items(min)}` : undefined
  if (min === max) return `must have exactly ${items(max)}`
  return min > 0 ? `must have between ${min} and ${max} items` : `must have at most ${items(max)}`
}

/** For nested lists, which no request can send, each item is PostgreSQL's text. */
function selectOf(column: string, { type, options }: Typed): string {
  const item = type.select?.('item', options)
  if (item === undefined) return column
  const items = `select ${item} from unnest(${column}) with ordinality as items(item, place) order by place`
  return `case when array_ndims(${column}) > 1 then ${column}::text[] when ${column} is not null then array(${items})::text[] end`
}
