import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { matching } from './sql.js'

export const icontains: Lookup<string> = {
  name: 'icontains',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  sql: matching('ilike', (text) => `%${text}%`),
  index: () => 'none',
  meaning:
    'has the text somewhere, `A`–`Z` being the same as `a`–`z`; other letters are compared as they are, unless the field has a `collation`',
  description: 'has this in it, in either case',
  proposes: true,
}
