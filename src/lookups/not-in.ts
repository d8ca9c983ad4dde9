import { arrayLiteral } from '../fields/cell.js'
import { ne } from './ne.js'
import type { Lookup } from './lookup.js'
import { MAX_VALUES, VALUES } from './operands.js'

/** A null is none of the values. */
export const notIn: Lookup<readonly unknown[]> = {
  name: 'not_in',
  isOffered: ({ comparisons }) => comparisons.includes('membership'),
  operand: VALUES,
  forOne: ne,
  sql: (column, { bind, field: { type, options } }) =>
    `(${column} <> all(${bind((values) => arrayLiteral(values.map((value) => type.write(value, options))))})) is not false`,
  mixesNulls: true,
  holds: (stored, wanted, order) => stored === null || wanted.every((each) => order(stored, each) !== 0),
  // It excludes a few values of many, so reading in order soon finds a page.
  index: () => 'none',
  meaning: `is not one of up to ${MAX_VALUES} comma-separated values, written as for \`in\`, or is null`,
  description: 'is not one of these, or is empty',
}
