import type { Lookup } from './lookup.js'
import { VALUE } from './operands.js'
import { comparing } from './sql.js'

export const gte: Lookup = {
  name: 'gte',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: VALUE,
  sql: comparing('>='),
  index: () => 'needed',
  meaning: 'is greater or equal',
  description: 'is this or more',
}
