import type { ExistingColumn } from './existing-column.js'
import type { Typed } from './field-type.js'
import { identifier } from './sql-literal.js'

const AN_ENUM: ExistingColumn = { type: '', collation: null, labels: [] }

/**
 * The SQL of a stored value in comparisons. In a table of another program, a field can serve a domain over an enum. PostgreSQL has no operators for such a
 * domain, but the result of `case` has the base type. The planner removes the `case`, so that an index on the column still helps.
 */
export function compared({ managed, type, options }: Typed, sql: string): string {
  return managed === false && type.serves?.(AN_ENUM, options) ? `(case when true then ${sql} end)` : sql
}

/** The SQL of a column in comparisons; `owner` is the name of its table in statements with several. */
export function comparedColumn(field: Typed & { readonly column: string }, owner?: string): string {
  const column = identifier(field.column)
  return compared(field, owner === undefined ? column : `${owner}.${column}`)
}
