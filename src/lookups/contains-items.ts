import { has } from './has.js'
import type { Lookup } from './lookup.js'
import { MAX_VALUES, ofItems, VALUES } from './operands.js'
import { itemsLiteral } from './sql.js'

/** Whether a list has all of these items. */
export const containsItems: Lookup<readonly unknown[]> = {
  name: 'contains',
  isOffered: ({ comparisons }) => comparisons.includes('items'),
  operand: ofItems(VALUES),
  forOne: has,
  sql: (column, { bind, field }) => `${column} operator(pg_catalog.@>) ${bind((items) => itemsLiteral(field, items))}`,
  holds: 'unknown',
  index: () => 'gin',
  meaning: `has all of up to ${MAX_VALUES} items, written as for \`in\``,
  description: 'has all of these items',
}
