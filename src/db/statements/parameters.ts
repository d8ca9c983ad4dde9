import type { FieldSpec } from '../../config/spec.js'
import { type Cell, writeCell } from '../../fields/cell.js'
import type { Caller, CallerValue } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'

/** The parameters of one statement, in order. Each method that adds a value returns its placeholder. */
export interface Parameters {
  add(value: Cell): string
  /** Adds a value of the configuration. */
  addFixed(value: Cell): string
  /** Adds a value that the caller has. */
  addGiven(value: CallerValue, caller: Caller, cell: (given: unknown) => Cell): string
  /** Adds the value of a field to write. */
  addWritten(field: FieldSpec, row: Row): string
  /** Returns a value of the caller. The text of the statement may depend on whether there is one. */
  given(value: CallerValue, caller: Caller): unknown
  /** Must be called if the text depends on the value of a request. */
  dependsOnValue(): void
  readonly values: readonly Cell[]
}

export function parameters(...values: Cell[]): Parameters {
  const add = (value: Cell) => `$${values.push(value)}`
  return {
    values,
    add,
    addFixed: add,
    addGiven: (value, caller, cell) => add(cell(value(caller))),
    addWritten: (field, row) => add(writeCell(field, row[field.name])),
    given: (value, caller) => value(caller),
    dependsOnValue() {},
  }
}
