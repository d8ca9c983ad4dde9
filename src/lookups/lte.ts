import { holdsByOrder } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

export const lte: Lookup = {
  name: 'lte',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: VALUE,
  sql: comparing('<='),
  holds: holdsByOrder((difference) => difference <= 0),
  range: ([text = '']) => ({ high: { text, inclusive: true } }),
  index: () => 'needed',
  meaning: 'is less than or equal to the value',
  description: 'is this or less',
}
