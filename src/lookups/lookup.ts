import type { Cell } from '../fields/cell.js'
import type { FieldType, Typed } from '../fields/field-type.js'
import type { HeldRange, Holds } from './in-memory.js'
import type { Operand } from './operands.js'

/**
 * What an index does for a lookup. `needed`: without an index, the filter reads the whole table. `useful`: the filter uses an index, but finds
 * a page without it. `ignore_case` and `gin`: only an index of this kind helps. `none`: no index that the configuration can declare helps.
 */
export type IndexHelp = 'needed' | 'useful' | 'ignore_case' | 'gin' | 'none'

/** The right side of a comparison, for the SQL of a lookup. */
export interface Bound<Value> {
  readonly field: Typed
  /** The value of this request, for a lookup whose SQL depends on it. */
  readonly value: Value
  /** Adds a parameter and returns its placeholder, such as `$1`. `cell` converts the value to text. */
  bind(cell: (value: Value) => Cell): string
}

/** A comparison that a filter makes: one object in one file. */
export interface Lookup<Value = unknown> {
  /** The name in `filterable`, and in a query after the field and `__`. */
  readonly name: string
  /** Whether the fields of a type offer it. */
  isOffered(type: FieldType): boolean
  /** The format of the right side, in queries and in documents. */
  readonly operand: Operand<Value>
  /** The condition on a column (already quoted). */
  sql(column: string, operand: Bound<Value>): string
  /** The lookup that compares with one value as this one does with several. */
  readonly forOne?: Lookup
  /** Whether both records with a value and records without one can match it in the same list. */
  readonly mixesNulls?: true
  /**
   * Whether it holds for a stored value: `unknown` if only the database can tell. Access rules are evaluated by it to test the SQL, so it shares no
   * code with `sql`.
   */
  readonly holds: Holds | 'unknown'
  /** Whether it holds for the wanted values and for no others. */
  readonly listsValues?: true
  /** The range of values for which it holds. Left out if it is not a range with one or two of the wanted values as its ends. */
  range?(wanted: readonly string[]): HeldRange
  /** Whether it only asks whether there is a value. */
  readonly ofNull?: true
  index(field: Typed): IndexHelp
  /** For the reference, after "The field …". */
  readonly meaning: string
  /** For OpenAPI, after "Only records whose `title` …". */
  readonly description: string
  /** Whether the beginning of a text finds the records that a person may mean, so that forms can suggest them. */
  readonly proposes?: true
}
