import { holdsForText } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const contains: Lookup<string> = {
  name: 'contains',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('like', (text) => `%${text}%`),
  holds: holdsForText((stored, wanted) => stored.includes(wanted)),
  index: () => 'none',
  meaning: 'contains the text, case-sensitive',
  description: 'contains the text',
}
