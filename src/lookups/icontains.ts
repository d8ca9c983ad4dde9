import { holdsInAnyCase } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const icontains: Lookup<string> = {
  name: 'icontains',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('ilike', (text) => `%${text}%`),
  holds: holdsInAnyCase((stored, wanted) => stored.includes(wanted)),
  index: () => 'none',
  meaning: 'contains the text, ignoring the case of `A`–`Z`; the case of other letters only with a `collation`',
  description: 'contains the text, in upper or lower case',
  proposes: true,
}
