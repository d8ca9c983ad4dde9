import type { Cell } from '../../fields/cell.js'

/** The parameters of one statement, in order. */
export interface Parameters {
  /** Adds a value and returns its placeholder. */
  add(value: Cell): string
  readonly values: readonly Cell[]
}

export function parameters(...values: Cell[]): Parameters {
  return { values, add: (value) => `$${values.push(value)}` }
}
