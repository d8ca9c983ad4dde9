import { holdsByOrder } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

export const gte: Lookup = {
  name: 'gte',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: VALUE,
  sql: comparing('>='),
  holds: holdsByOrder((difference) => difference >= 0),
  range: ([text = '']) => ({ low: { text, inclusive: true } }),
  index: () => 'needed',
  meaning: 'is greater than or equal to the value',
  description: 'is this or more',
}
