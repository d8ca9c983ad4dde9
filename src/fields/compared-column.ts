import type { ExistingColumn } from './existing-column.js'
import type { Typed } from './field-type.js'
import { identifier } from './sql-literal.js'

const AN_ENUM: ExistingColumn = { type: '', collation: null, labels: [] }
const A_CITEXT: ExistingColumn = { type: 'citext', collation: null, labels: null }

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

/**
 * The further condition under which a stored text that equals a given one is the same text, or a stored list has the same item; empty if it always does.
 * Texts that differ in case are equal by some collations and by the type `citext`.
 * @param column the SQL of the stored value, which is compared with the value at `place`: a list of one item for a list
 */
export function sameText(field: Typed, column: string, place: string): string {
  const items = field.type.items?.(field.options)
  if (!mayFold(field)) return ''
  return items
    ? ` and ${column}::text[] collate "C" operator(pg_catalog.@>) ${place}::text[]`
    : ` and ${column}::text collate "C" = ${place}::text`
}

/** Whether different texts may be equal in the column of a field. */
export function mayFold({ managed, ...field }: Typed): boolean {
  const { type, options } = itemOrKey(field)
  return collationOf(field) !== undefined || (managed === false && type.serves?.(A_CITEXT, options) === true)
}

/** The collation that a field names for the comparisons of its texts; undefined if it names none. */
export function collationOf(field: Pick<Typed, 'type' | 'options'>): string | undefined {
  const { options } = itemOrKey(field)
  return 'collation' in options ? (options.collation as string | undefined) : undefined
}

/** The items of a list, and the key that a relation refers to, whose collation the column of the relation has. */
function itemOrKey(field: Pick<Typed, 'type' | 'options'>): Pick<Typed, 'type' | 'options'> {
  const inner = field.type.items?.(field.options) ?? ('key' in field.options ? (field.options.key as Typed) : undefined)
  return inner ?? field
}
