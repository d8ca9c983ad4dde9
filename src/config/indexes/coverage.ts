import { comparisonText } from '../../lookups/index.js'
import type { NullsPlace } from '../../pagination/paginator.js'
import { columnsOf, type FieldSpec, type IndexSpec, isPlain, type ModelSpec } from '../model-spec.js'
import type { CoreSpec, OrderSpec } from '../core-spec.js'

/** The fields that a list compares for equality, and its order: an index must have them in this sequence. */
export interface IndexNeeds {
  readonly equal: readonly FieldSpec[]
  readonly order: readonly OrderSpec[]
}

/** An index as far as lists are concerned: all columns ascending, all rows included. */
export interface TableIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

/** Whether an index of a model serves a list from its first row on, so that the cost of a page does not depend on the size of the table. */
export function isCovered(model: ModelSpec, wanted: IndexNeeds): boolean {
  return indexesOf(model).some((index) => serves(index, wanted))
}

/** A condition that every row of a list satisfies. */
type Condition = IndexSpec['where'][number]

/**
 * The partial indexes that contain all records of a list: the list has every condition of the index.
 * @param conditions all conditions of the list
 * @returns each index with the conditions that it does not imply
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

/** Whether an index that ignores case begins with a field, and contains all rows. */
export function servesIgnoringCase({ indexes }: ModelSpec, field: FieldSpec): boolean {
  return indexes.some(
    ({ columns: [first], ignoreCase, where }) =>
      first === field.column && ignoreCase.includes(field.column) && where.length === 0,
  )
}

/** Whether a GIN index finds all rows by the items of a field. */
export function servesItems({ indexes }: ModelSpec, field: FieldSpec): boolean {
  return indexes.some(
    ({ columns, method, where }) => method === 'gin' && columns.includes(field.column) && where.length === 0,
  )
}

/**
 * Whether an index starts with the compared columns, in any order, and continues with the columns of the list's order, all in one
 * direction. Columns after a unique combination no longer matter. Nulls may have any place in the first field of the order, because
 * an index is read in two parts for it.
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
  // Columns with equal values in all rows do not affect the order.
  const ordered = order.filter(({ field }) => !compared.has(field.column))
  if (!ordered.slice(0, tail.length).every(({ field }, place) => field.column === tail[place])) return false
  // A unique index can contain any number of nulls.
  return (
    tail.length >= ordered.length || (unique && ordered.slice(0, tail.length).every(({ field }) => !field.nullable))
  )
}

/** Every index of the model's table: of its keys, of its relations, and the declared ones. */
export function indexesOf(model: ModelSpec): readonly TableIndex[] {
  return [...ownIndexes(model), ...relationIndexes(model).map((columns) => ({ columns, unique: false }))]
}

function ownIndexes({ key, fields, indexes }: ModelSpec): readonly TableIndex[] {
  return [
    ...(key.length > 0 ? [{ columns: key.map(({ column }) => column), unique: true }] : []),
    ...fields.filter((field) => field.unique).map((field) => ({ columns: [field.column], unique: true })),
    // Other indexes lack rows, have other values, or have no order.
    ...indexes.filter(isPlain),
  ]
}

/** The columns of each relation that has an index of its own, because no other one starts with its columns, in any order. */
export function relationIndexes(model: ModelSpec): readonly (readonly string[])[] {
  const own = ownIndexes(model)
  const startsWith = (index: TableIndex, columns: readonly string[]) => {
    const first = index.columns.slice(0, columns.length)
    return first.length === columns.length && first.every((column) => columns.includes(column))
  }
  return model.relations.map(columnsOf).filter((columns) => !own.some((index) => startsWith(index, columns)))
}

/** One part of an order. `place` is the place of nulls, and is kept only where it differs from PostgreSQL's default. */
export function orderBy(field: FieldSpec, descending: boolean, place: NullsPlace | undefined): OrderSpec {
  const usual = descending ? 'first' : 'last'
  return place === undefined || place === usual || !field.nullable
    ? { field, descending }
    : { field, descending, nulls: place }
}

/**
 * Appends the primary key to an order, in the direction of the field before it, so that pages never overlap. Records without a key are ordered by
 * all their fields: records that are equal in all of them are interchangeable. The fields that responses show come first, because the order of records
 * that differ in them must not reveal hidden values, and of these the orderable ones.
 */
export function totalOrder(
  { model: { key, fields }, shown }: Pick<CoreSpec, 'model' | 'shown'>,
  order: readonly OrderSpec[],
): readonly OrderSpec[] {
  const named = new Set(order.map(({ field }) => field))
  const rankOf = (field: FieldSpec) => (shown.includes(field) ? 0 : 2) + (field.type.orderable ? 0 : 1)
  const rest = key.length > 0 ? key : fields.toSorted((one, other) => rankOf(one) - rankOf(other))
  const descending = order.at(-1)?.descending ?? false
  return [...order, ...rest.filter((field) => !named.has(field)).map((field) => ({ field, descending }))]
}

/** The start of an order that runs in one direction, with nulls in the default place: a declared index serves no more of it. */
export function uniformStart(order: readonly OrderSpec[]): readonly OrderSpec[] {
  const turn = order.findIndex(
    ({ descending, nulls }, place) => descending !== order[0]?.descending || (place > 0 && nulls !== undefined),
  )
  return turn < 0 ? order : order.slice(0, turn)
}
