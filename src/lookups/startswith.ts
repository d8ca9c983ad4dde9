import { holdsForText } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const startswith: Lookup<string> = {
  name: 'startswith',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('like', (text) => `${text}%`),
  holds: holdsForText((stored, wanted) => stored.startsWith(wanted)),
  // The beginning of a text is a range only if texts are ordered by code point.
  index: ({ type, options }) => (type.column(options).endsWith('collate "C"') ? 'needed' : 'none'),
  meaning: 'begins with the text, case-sensitive',
  description: 'starts with this',
  proposes: true,
}
