import { holdsInAnyCase } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const istartswith: Lookup<string> = {
  name: 'istartswith',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('ilike', (text) => `${text}%`),
  holds: holdsInAnyCase((stored, wanted) => stored.startsWith(wanted)),
  index: () => 'none',
  meaning: 'begins with the text, ignoring case as `icontains` does',
  description: 'starts with this, in upper or lower case',
}
