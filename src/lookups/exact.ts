import { holdsByOrder } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing, helpForValues } from './sql.js'

/** The lookup whose parameter is only the name of the field. */
export const exact: Lookup = {
  name: 'exact',
  isOffered: ({ comparisons }) => comparisons.includes('equality'),
  operand: VALUE,
  sql: comparing('='),
  holds: holdsByOrder((difference) => difference === 0),
  listsValues: true,
  index: helpForValues,
  meaning: 'is the value',
  description: 'is this',
}
