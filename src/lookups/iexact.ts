import type { Typed } from '../fields/field-type.js'
import { holdsInAnyCase } from './in-memory.js'
import type { Lookup } from './lookup.js'
import { TEXT } from './operands.js'

export const iexact: Lookup<string> = {
  name: 'iexact',
  isOffered: ({ comparisons }) => comparisons.includes('text'),
  operand: TEXT,
  // Written so that an index with `ignore_case` serves it. The cast is for enums.
  sql(column, { bind, field }) {
    const collation = collationOf(field)
    return `lower(${column}::text${collation}) = lower(${bind((text) => text)}${collation})`
  },
  holds: holdsInAnyCase((stored, wanted) => stored === wanted),
  index: () => 'ignore_case',
  meaning: 'is the text, ignoring case as `icontains` does',
  description: 'is this, in upper or lower case',
}

/** The collation of a text column, as SQL. Enums and parameters have the one of the database. */
function collationOf({ type, options }: Typed): string {
  return / collate .*/.exec(type.column(options))?.[0] ?? ''
}
