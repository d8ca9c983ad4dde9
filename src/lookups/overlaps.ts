import { has } from './has.js'
import type { Lookup } from './lookup.js'
import { MAX_VALUES, ofItems, VALUES } from './operands.js'
import { itemsLiteral } from './sql.js'

/** Whether a list has at least one of these items. */
export const overlaps: Lookup<readonly unknown[]> = {
  name: 'overlaps',
  isOffered: ({ comparisons }) => comparisons.includes('items'),
  operand: ofItems(VALUES),
  forOne: has,
  sql: (column, { bind, field }) => `${column} operator(pg_catalog.&&) ${bind((items) => itemsLiteral(field, items))}`,
  holds: 'unknown',
  index: () => 'gin',
  meaning: `has at least one of up to ${MAX_VALUES} items, written as for \`in\``,
  description: 'has at least one of these items',
}
