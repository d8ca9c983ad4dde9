import type { FieldSpec, ModelSpec, OrderSpec } from './spec.js'

/** What a list asks of an index: fields compared for equality, and then an order. */
export interface Wanted {
  readonly equal: readonly FieldSpec[]
  readonly order: readonly OrderSpec[]
}

/**
 * Whether an index of a model serves a list from its first row on, so that a page costs the same in a table of any size: its
 * columns start with the compared ones, in any order, and go on with those of the list's order, all in one direction.
 */
export function isCovered(model: ModelSpec, { equal, order }: Wanted): boolean {
  const [first] = order
  if (!order.every(({ descending }) => descending === first?.descending)) return false
  const compared = new Set(equal.map((field) => field.column))
  // What is equal in all rows does not take part in their order.
  const ordered = order.map(({ field }) => field.column).filter((column) => !compared.has(column))
  return indexesOf(model).some((columns) => {
    const head = columns.slice(0, compared.size)
    const tail = columns.slice(compared.size, compared.size + ordered.length)
    return (
      head.every((column) => compared.has(column)) && head.length === compared.size && ordered.join() === tail.join()
    )
  })
}

/** The columns of every index that the model's table has. */
function indexesOf({ primaryKey, fields, indexes }: ModelSpec): readonly (readonly string[])[] {
  const unique = fields.filter((field) => field.unique || field.target).map((field) => [field.column])
  return [[primaryKey.column], ...unique, ...indexes.map((index) => index.columns)]
}
