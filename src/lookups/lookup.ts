import type { Cell } from '../fields/cell.js'
import type { FieldType, Typed } from '../fields/field-type.js'
import type { Operand } from './operands.js'

/**
 * What an index does for a lookup. `needed`: without it the filter reads the whole table. `useful`: the filter uses it, but finds
 * a page without it. `none`: no index that a file can declare helps.
 */
export type IndexHelp = 'needed' | 'useful' | 'none'

/** The right side of a comparison, for the SQL of a lookup. */
export interface Bound<Value> {
  readonly field: Typed
  /** The value of this request, for a lookup whose SQL depends on it. */
  readonly value: Value
  /** Adds a parameter and returns its name, such as `$1`. `cell` makes its text out of the value. */
  bind(cell: (value: Value) => Cell): string
}

/** A comparison that a filter makes: one object in one file. */
export interface Lookup<Value = unknown> {
  /** The suffix of the field and `__` in a query, and the name in `filterable`. */
  readonly name: string
  /** Whether the fields of a type offer it. */
  isOffered(type: FieldType): boolean
  /** How the right side is written, in queries and in documents. */
  readonly operand: Operand<Value>
  /** The condition on a column (already quoted). */
  sql(column: string, operand: Bound<Value>): string
  /** Whether it can hold for records with a value and for records without one in one list. */
  readonly mixesNulls?: true
  index(field: Typed): IndexHelp
  /** For the reference, after "The field …". */
  readonly meaning: string
  /** For OpenAPI, after "Only records whose `title` …". */
  readonly description: string
  /** Whether the beginning of a text finds the records that a person may mean, so that forms can propose them. */
  readonly proposes?: true
}
