import type { FieldSpec } from '../../config/spec.js'
import type { Lookup } from '../../lookups/lookup.js'

/** True, false, or undefined if it depends on something that is not known. */
export type Verdict = boolean | undefined

/** A stored value as PostgreSQL prints it. */
export type StoredText = string | null

type Kind = 'number' | 'text' | 'boolean' | 'key'

/** How values of a type compare. For other types, it is only known whether they are null. */
const KINDS: Readonly<Record<string, Kind>> = {
  integer: 'number',
  bigint: 'number',
  decimal: 'number',
  string: 'text',
  text: 'text',
  choice: 'text',
  email: 'text',
  url: 'text',
  uuid: 'text',
  date: 'text',
  boolean: 'boolean',
  belongs_to: 'key',
}

/** How values of a field compare; undefined if only the database knows. */
export function kindOf({ type, options }: Pick<FieldSpec, 'type' | 'options'>): Kind | undefined {
  return 'collation' in options && options.collation !== undefined ? undefined : KINDS[type.name]
}

type Compare = (stored: string, wanted: readonly string[], order: Order) => boolean
type Order = (one: string, other: string) => number

function lower(text: string) {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function first([text = '']: readonly string[]) {
  return text
}

/** What each lookup means for a value that is not null. */
const COMPARISONS: Readonly<Record<string, Compare>> = {
  exact: (stored, wanted, order) => order(stored, first(wanted)) === 0,
  ne: (stored, wanted, order) => order(stored, first(wanted)) !== 0,
  in: (stored, wanted, order) => wanted.some((each) => order(stored, each) === 0),
  not_in: (stored, wanted, order) => wanted.every((each) => order(stored, each) !== 0),
  gt: (stored, wanted, order) => order(stored, first(wanted)) > 0,
  gte: (stored, wanted, order) => order(stored, first(wanted)) >= 0,
  lt: (stored, wanted, order) => order(stored, first(wanted)) < 0,
  lte: (stored, wanted, order) => order(stored, first(wanted)) <= 0,
  range: (stored, [low = '', high = ''], order) => order(stored, low) >= 0 && order(stored, high) <= 0,
  contains: (stored, wanted) => stored.includes(first(wanted)),
  icontains: (stored, wanted) => lower(stored).includes(lower(first(wanted))),
  startswith: (stored, wanted) => stored.startsWith(first(wanted)),
  istartswith: (stored, wanted) => lower(stored).startsWith(lower(first(wanted))),
  endswith: (stored, wanted) => stored.endsWith(first(wanted)),
  iexact: (stored, wanted) => lower(stored) === lower(first(wanted)),
}

/** Lookups that hold for records without a value. */
const HOLD_FOR_NULL: readonly string[] = ['ne', 'not_in']

/** Whether a comparison holds for a stored value. It follows the meaning of the lookup, and shares no code with the SQL of the service. */
export function compareValue(field: FieldSpec, lookup: Lookup, stored: StoredText, wanted: readonly string[]): Verdict {
  if (lookup.name === 'isnull') return (stored === null) === (first(wanted) === 'true')
  const compare = COMPARISONS[lookup.name]
  const kind = kindOf(field)
  if (compare === undefined || kind === undefined) return undefined
  return stored === null ? HOLD_FOR_NULL.includes(lookup.name) : compare(stored, wanted, ORDERS[kind])
}

const byCodePoint: Order = (one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))
function isWhole(text: string) {
  return /^-?\d+$/.test(text)
}

const byNumber: Order = (one, other) => {
  if (!isWhole(one) || !isWhole(other)) return Number(one) - Number(other)
  const difference = BigInt(one) - BigInt(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const ORDERS: Readonly<Record<Kind, Order>> = {
  text: byCodePoint,
  boolean: byCodePoint,
  number: byNumber,
  key: (one, other) => (isWhole(one) && isWhole(other) ? byNumber(one, other) : byCodePoint(one, other)),
}

/** The order of two stored values of a field, nulls last. */
export function compareStored(field: FieldSpec, one: StoredText, other: StoredText): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  return ORDERS[kindOf(field) ?? 'text'](one, other)
}
