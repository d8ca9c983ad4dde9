import type { FieldSpec } from '../../config/spec.js'
import type { TextOrder } from '../../fields/field-type.js'
import type { Json } from '../../foundation/json.js'
import type { Lookup } from '../../lookups/lookup.js'

/** True, false, or undefined if it depends on something that is not known. */
export type Verdict = boolean | undefined

/** A stored value as PostgreSQL prints it. */
export type StoredText = string | null

/** How values of a field compare; undefined if only the database knows. */
export function kindOf({ type, options }: Pick<FieldSpec, 'type' | 'options'>): TextOrder | undefined {
  return 'collation' in options && options.collation !== undefined ? undefined : type.comparesAs
}

/** Whether a comparison holds for a stored value. It follows the meaning of the lookup, and shares no code with the SQL of the service. */
export function compareValue(
  field: FieldSpec,
  { holds, ofNull }: Lookup,
  stored: StoredText,
  wanted: readonly string[],
): Verdict {
  const kind = kindOf(field)
  if (holds === 'unknown' || (kind === undefined && !ofNull)) return undefined
  return holds(stored, wanted, ORDERS[kind ?? 'text'])
}

/** Whether a comparison excludes records without a value, whatever the type of the field. Without the wanted values, it must do so for all of them. */
export function excludesNull({ holds, mixesNulls }: Lookup, wanted: readonly string[] = []): boolean {
  return holds === 'unknown' ? !mixesNulls : !holds(null, wanted, byCodePoint)
}

type Order = (one: string, other: string) => number

const byCodePoint: Order = (one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))
function isWhole(text: string) {
  return /^-?\d+$/.test(text)
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/

const byNumber: Order = (one, other) => {
  // The difference of two infinities is not a number.
  if (one === other) return 0
  if (!DECIMAL.test(one) || !DECIMAL.test(other)) return Number(one) - Number(other)
  const scale = Math.max(fractionOf(one).length, fractionOf(other).length)
  const difference = scaled(one, scale) - scaled(other, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

function fractionOf(text: string): string {
  return text.split('.')[1] ?? ''
}

/** The numbers next to a decimal: one more, and one less. */
export function nextTo(text: string): readonly string[] {
  if (!DECIMAL.test(text)) return []
  const scale = fractionOf(text).length
  const one = 10n ** BigInt(scale)
  return [one, -one].map((each) => unscaled(scaled(text, scale) + each, scale))
}

function unscaled(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`
  return `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${fraction}`
}

/** A decimal times a power of ten, because a double has too few digits for it. */
function scaled(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

const ORDERS: Readonly<Record<TextOrder, Order>> = {
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

/** A valid JSON value of a field as PostgreSQL prints it in the columns of `StoredRecord`. */
export function printJson({ type, options }: FieldSpec, json: Json): StoredText {
  if (json === null) return null
  const value = type.fromJson(json, JSON.stringify(json), options)
  // For booleans and `char`, which compare in memory, a cast to text differs from what PostgreSQL prints.
  const print = type.comparesAs === undefined ? (type.print ?? type.write) : type.write
  return String(print(value, options))
}

/** Whether two texts of a field are the same value. */
export function areSame({ type }: FieldSpec, one: StoredText | undefined, other: StoredText | undefined): boolean {
  return one === other || (one != null && other != null && type.areEqual?.(one, other) === true)
}
