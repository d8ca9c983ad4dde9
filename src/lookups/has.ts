import type { Lookup } from './lookup.js'
import { ofItems, VALUE } from './operands.js'
import { itemsLiteral } from './sql.js'

/** Whether a list has this item. */
export const has: Lookup = {
  name: 'has',
  isOffered: ({ comparisons }) => comparisons.includes('items'),
  operand: ofItems(VALUE),
  sql: (column, { bind, field }) => `${column} operator(pg_catalog.@>) ${bind((item) => itemsLiteral(field, [item]))}`,
  holds: 'unknown',
  index: () => 'gin',
  meaning: 'has the item',
  description: 'has this item',
}
