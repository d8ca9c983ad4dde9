import { holdsInAnyCase } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'
import { lowered, textOf } from './sql.js'

export const iexact: Lookup<string> = {
  name: 'iexact',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  // Written so that an index with `ignore_case` serves it.
  sql(column, { bind, field }) {
    const text = textOf(column, field)
    return `lower(${text}) = ${lowered(
      text,
      bind((given) => given),
    )}`
  },
  holds: holdsInAnyCase((stored, wanted) => stored === wanted),
  index: () => 'ignore_case',
  meaning: 'is the text, ignoring case as `icontains` does',
  description: 'is this, in upper or lower case',
}
