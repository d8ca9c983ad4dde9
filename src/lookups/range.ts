import { writeCell } from '../fields/cell.js'
import type { Lookup } from './lookup.js'
import { checkValues, type Operand, type OperandSource, parseValues, splitList } from './operands.js'

type Pair = readonly [first: unknown, last: unknown]

/** Two values of the field. */
const PAIR: Operand<Pair> = {
  parse: (text, source) => parsePair(splitList(text), source),
  list: { limits: () => ({ minItems: 2, maxItems: 2 }), parse: parsePair },
  check(given, source) {
    if (!Array.isArray(given) || given.length !== 2) throw source.needs('a list of two values, the first and the last,')
    const [first, last] = checkValues(given, source)
    return [first, last]
  },
  write: (pair, write) => pair.map(write),
  schema: (value) => value,
  typescript: (value) => `readonly [${value}, ${value}]`,
  placeholder: 'first, last',
}

function parsePair(texts: readonly string[], source: OperandSource): Pair {
  if (texts.length !== 2) throw source.problem(`must have two values, the first and the last; got ${texts.length}`)
  const [first, last] = parseValues(texts, source)
  return [first, last]
}

export const range: Lookup<Pair> = {
  name: 'range',
  isOffered: ({ comparisons }) => comparisons.includes('order'),
  operand: PAIR,
  sql(column, { bind, field }) {
    const bound = (place: 0 | 1) => bind((pair) => writeCell(field, pair[place]))
    return `${column} between ${bound(0)} and ${bound(1)}`
  },
  holds: (stored, [first = '', last = ''], order) =>
    stored !== null && order(stored, first) >= 0 && order(stored, last) <= 0,
  range: ([first = '', last = '']) => ({
    low: { text: first, inclusive: true },
    high: { text: last, inclusive: true },
  }),
  index: () => 'needed',
  meaning: 'is between two comma-separated values, or equal to one of them',
  description: 'is from the first of these to the last, both included',
}
