import { writeCell } from '../fields/cell.js'
import type { Typed } from '../fields/field-type.js'
import { canEquateTexts } from '../fields/text-rules.js'
import type { Bound, IndexHelp } from './lookup.js'

/** A comparison of a column with one value of its field. */
export function comparing(operator: string): (column: string, operand: Bound<unknown>) => string {
  return (column, { bind, field }) => `${column} ${operator} ${bind((value) => writeCell(field, value))}`
}

/** A match of a text column with a pattern. */
export function matching(
  operator: 'like' | 'ilike',
  pattern: (escaped: string) => string,
): (column: string, operand: Bound<string>) => string {
  return (column, { bind, field }) =>
    likeSql(operator, { column, field, pattern: bind((text) => pattern(escapePattern(text))) })
}

interface Match {
  readonly column: string
  readonly field: Typed
  /** The placeholder of the pattern. */
  readonly pattern: string
}

/** The SQL of a column as a text. The column of a field for texts can be an enum in a table that migrations do not create. */
export function textOf(column: string, { managed }: Typed): string {
  return managed === false ? `${column}::text` : column
}

/** The SQL of a parameter in lower case by the collation of a column, which the field need not name. */
export function lowered(column: string, parameter: string): string {
  return `lower(case when false then ${column} else ${parameter} end)`
}

/**
 * The SQL of a match. PostgreSQL has no `ilike`, and before version 18 no `like`, by a collation that treats different texts as equal.
 */
export function likeSql(operator: 'like' | 'ilike', { column, field, pattern }: Match): string {
  if (!canEquateTexts(field.options)) return `${textOf(column, field)} ${operator} ${pattern}`
  if (operator === 'like') return `${column} collate "C" like ${pattern}`
  return `lower(${column}) collate "C" like ${lowered(column, pattern)} collate "C"`
}

/** PostgreSQL's text form of a list with these items. */
export function itemsLiteral({ type, options }: Typed, items: readonly unknown[]): string {
  return type.write(items, options)
}

/** Escapes `%`, `_` and the backslash. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}

/** A filter on a field with at most this many values matches so many rows that scanning in order finds a page soon. */
const FEW_VALUES = 20

/** How an index helps a filter on some values of a field. */
export function helpForValues({ type, options }: Typed): IndexHelp {
  return (type.values?.(options) ?? Number.POSITIVE_INFINITY) <= FEW_VALUES ? 'useful' : 'needed'
}
