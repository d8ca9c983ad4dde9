import { comparisonText } from '../../lookups/index.js'
import type { NullsPlace } from '../../pagination/paginator.js'
import { columnsOf, type FieldSpec, type IndexSpec, isPlain, type ModelSpec, type OrderSpec } from '../core-spec.js'

/** What a list asks of an index: fields compared for equality, and then an order. */
export interface IndexNeeds {
  readonly equal: readonly FieldSpec[]
  readonly order: readonly OrderSpec[]
}

/** An index as far as lists are concerned: all columns ascending, none left out of it. */
export interface TableIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

/** Whether an index of a model serves a list from its first row on, so that a page costs the same in a table of any size. */
export function isCovered(model: ModelSpec, wanted: IndexNeeds): boolean {
  return indexesOf(model).some((index) => serves(index, wanted))
}

/** A condition that every row of a list meets. */
type Condition = IndexSpec['where'][number]

/**
 * The partial indexes with all records that a list shows: the list has every condition of the index.
 * @param conditions all conditions of the list
 * @returns each with the conditions that it leaves to its columns
 */
export function partialIndexes(model: ModelSpec, conditions: readonly Condition[]) {
  const has = (all: readonly Condition[], needed: Condition) =>
    all.some((each) => comparisonText(each) === comparisonText(needed))
  return model.indexes
    .filter(({ method, ignoreCase }) => method === 'btree' && ignoreCase.length === 0)
    .filter(({ where }) => where.length > 0 && where.every((needed) => has(conditions, needed)))
    .map((index) => ({
      index,
      rest: conditions.filter((each) => index.columns.includes(each.field.column) || !has(index.where, each)),
    }))
}

/** Whether an index that ignores case begins with a field, and has all rows. */
export function servesIgnoringCase({ indexes }: ModelSpec, field: FieldSpec): boolean {
  return indexes.some(
    ({ columns: [first], ignoreCase, where }) =>
      first === field.column && ignoreCase.includes(field.column) && where.length === 0,
  )
}

/**
 * Whether an index starts with the compared columns, in any order, and goes on with those of the list's order, all in one
 * direction. What follows columns that no two rows agree in decides nothing any more. Nulls may have any place in the first
 * field of the order, of which an index is read in two parts.
 */
export function serves({ columns, unique }: TableIndex, { equal, order }: IndexNeeds): boolean {
  const [first] = order
  if (!order.every(({ descending }) => descending === first?.descending)) return false
  const compared = new Set(equal.map((field) => field.column))
  if (order.slice(1).some(({ field, nulls }) => nulls !== undefined && !compared.has(field.column))) return false
  if (unique && columns.every((column) => compared.has(column))) return true
  const head = columns.slice(0, compared.size)
  if (head.length < compared.size || !head.every((column) => compared.has(column))) return false
  const tail = columns.slice(compared.size)
  // What is equal in all rows does not take part in their order.
  const ordered = order.filter(({ field }) => !compared.has(field.column))
  if (!ordered.slice(0, tail.length).every(({ field }, place) => field.column === tail[place])) return false
  // Of nulls, a unique index holds any number.
  return (
    tail.length >= ordered.length || (unique && ordered.slice(0, tail.length).every(({ field }) => !field.nullable))
  )
}

/** Every index that the model's table has: of its keys, its relations, and those that it declares. */
export function indexesOf({ key, fields, relations, indexes }: ModelSpec): readonly TableIndex[] {
  return [
    ...(key.length > 0 ? [{ columns: key.map(({ column }) => column), unique: true }] : []),
    ...fields.filter((field) => field.unique).map((field) => ({ columns: [field.column], unique: true })),
    ...relations
      .filter(({ parts: [first, ...others] }) => others.length > 0 || first?.field.unique !== true)
      .map((relation) => ({ columns: columnsOf(relation), unique: false })),
    // Any other index has too few rows, other values or no order.
    ...indexes.filter(isPlain),
  ]
}

/** One part of an order. `place` says where its nulls come, which matters only where PostgreSQL would put them elsewhere. */
export function orderBy(field: FieldSpec, descending: boolean, place: NullsPlace | undefined): OrderSpec {
  const usual = descending ? 'first' : 'last'
  return place === undefined || place === usual || !field.nullable
    ? { field, descending }
    : { field, descending, nulls: place }
}

/**
 * An order with the primary key at its end, in the direction of the field before it, so that pages never overlap. Records without a key are ordered
 * by all their fields, those that have an order first: records that agree in all of them are as good as one another.
 */
export function totalOrder({ key, fields }: ModelSpec, order: readonly OrderSpec[]): readonly OrderSpec[] {
  const named = new Set(order.map(({ field }) => field))
  const rest =
    key.length > 0 ? key : fields.toSorted((one, other) => Number(other.type.orderable) - Number(one.type.orderable))
  const descending = order.at(-1)?.descending ?? false
  return [...order, ...rest.filter((field) => !named.has(field)).map((field) => ({ field, descending }))]
}

/** The part of an order that runs in one direction, with nulls where an index has them: an index that is declared here serves no more of it. */
export function uniformStart(order: readonly OrderSpec[]): readonly OrderSpec[] {
  const turn = order.findIndex(
    ({ descending, nulls }, place) => descending !== order[0]?.descending || (place > 0 && nulls !== undefined),
  )
  return turn < 0 ? order : order.slice(0, turn)
}
