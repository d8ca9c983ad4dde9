import { holdsByOrder } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

export const gt: Lookup = {
  name: 'gt',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: VALUE,
  sql: comparing('>'),
  holds: holdsByOrder((difference) => difference > 0),
  range: ([text = '']) => ({ low: { text, inclusive: false } }),
  index: () => 'needed',
  meaning: 'is greater than the value',
  description: 'is more than this',
}
