import { holdsForText } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const endswith: Lookup<string> = {
  name: 'endswith',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('like', (text) => `%${text}`),
  holds: holdsForText((stored, wanted) => stored.endsWith(wanted)),
  index: () => 'none',
  meaning: 'ends with the text, case-sensitive',
  description: 'ends with this',
}
