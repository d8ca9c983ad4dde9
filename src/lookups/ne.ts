import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

/** A null differs from every value. */
export const ne: Lookup = {
  name: 'ne',
  isOffered: ({ comparisons }) => comparisons.includes('equality'),
  operand: VALUE,
  sql: comparing('is distinct from'),
  mixesNulls: true,
  holds: (stored, [wanted = ''], order) => stored === null || order(stored, wanted) !== 0,
  // It excludes one value of many, so reading in order soon finds a page.
  index: () => 'none',
  meaning: 'differs from the value, or is null',
  description: 'differs from this, or is empty',
}
