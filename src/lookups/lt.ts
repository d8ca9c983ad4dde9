import { holdsByOrder } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

export const lt: Lookup = {
  name: 'lt',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: VALUE,
  sql: comparing('<'),
  holds: holdsByOrder((difference) => difference < 0),
  range: ([text = '']) => ({ high: { text, inclusive: false } }),
  index: () => 'needed',
  meaning: 'is less than the value',
  description: 'is less than this',
}
