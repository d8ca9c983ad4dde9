import { arrayLiteral } from '../fields/cell.js'
import { exact } from './exact.js'
import type { Lookup } from './lookup.js'
import { MAX_VALUES, VALUES } from './operands.js'
import { helpForValues } from './sql.js'

export const isIn: Lookup<readonly unknown[]> = {
  name: 'in',
  isOffered: ({ comparisons }) => comparisons.includes('membership'),
  operand: VALUES,
  forOne: exact,
  sql: (column, { bind, field: { type, options } }) =>
    `${column} = any(${bind((values) => arrayLiteral(values.map((value) => type.write(value, options))))})`,
  holds: (stored, wanted, order) => stored !== null && wanted.some((each) => order(stored, each) === 0),
  listsValues: true,
  index: helpForValues,
  meaning: `is one of up to ${MAX_VALUES} comma-separated values; inside a value, a comma is written \`\\,\` and a backslash \`\\\\\``,
  description: 'is one of these',
}
