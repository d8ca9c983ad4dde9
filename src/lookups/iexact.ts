import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const iexact: Lookup<string> = {
  name: 'iexact',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('ilike', (text) => text),
  index: () => 'none',
  meaning: 'is the text, ignoring case as `icontains` does',
  description: 'is this, in either case',
}
