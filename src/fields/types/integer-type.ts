import type { Json } from '../../foundation/json.js'
import {
  boundOptions,
  canonicalInteger,
  exactInteger,
  MAX_INTEGER_LENGTH,
  rangeMessage,
  rangeRule,
} from '../spelling/exact-number.js'
import type { ColumnForm, ExistingColumn, FilledColumn } from '../existing-column.js'
import { type ComparisonKind, exceeds, type FieldType, type Rule } from '../field-type.js'

/** The options of `integer` and `bigint`; digits in a string if YAML or JSON would lose some. */
export interface IntegerOptions {
  readonly minimum?: number | string
  readonly maximum?: number | string
}

interface Range {
  readonly minimum: bigint
  readonly maximum: bigint
}

/** The comparisons of all types that have an order and are not text. */
export const ORDERED: readonly ComparisonKind[] = ['equality', 'membership', 'order']

/** JavaScript keeps every integer of up to this many digits. */
const SAFE_DIGITS = 15

const BOUND = { anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^(0|-?[1-9][0-9]*)$' }] }

function within(value: bigint, { minimum, maximum }: Range): boolean {
  return value >= minimum && value <= maximum
}

function rangeOf({ minimum, maximum }: IntegerOptions, limits: Range): Range {
  return {
    minimum: minimum === undefined ? limits.minimum : BigInt(minimum),
    maximum: maximum === undefined ? limits.maximum : BigInt(maximum),
  }
}

function boundConflict(option: keyof IntegerOptions, options: IntegerOptions, limits: Range) {
  const value = options[option]
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    return [{ option, message: `${value} is not exact: integers must be within ±(2^53 − 1); quote larger ones` }]
  }
  if (value === undefined || within(BigInt(value), limits)) return []
  return [{ option, message: `${value} is not between ${limits.minimum} and ${limits.maximum}` }]
}

function conflicts(options: IntegerOptions, limits: Range) {
  const outside = [...boundConflict('minimum', options, limits), ...boundConflict('maximum', options, limits)]
  if (outside.length > 0) return outside
  const { minimum, maximum } = rangeOf(options, limits)
  return minimum <= maximum ? [] : [exceeds('minimum', minimum, 'maximum', maximum)]
}

function rules(options: IntegerOptions, limits: Range, cast: string): readonly Rule[] {
  const { minimum, maximum } = rangeOf(options, limits)
  const narrower = {
    minimum: minimum > limits.minimum ? `${minimum}` : undefined,
    maximum: maximum < limits.maximum ? `${maximum}` : undefined,
  }
  return [
    { name: 'type', schema: { type: 'integer' }, message: 'must be an integer' },
    {
      ...rangeRule(narrower, cast),
      name: 'range',
      // Bounds near 2^63 are rounded here, so `admits` decides.
      schema: { minimum: Number(minimum), maximum: Number(maximum) },
      message: rangeMessage(`${minimum}`, `${maximum}`),
    },
  ]
}

function formatBound(text: string): Json {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text
}

/** How an integer field describes a column. Defaults with more than `digits` digits are not read, because a JSON number would round them. */
function integerForm(limits: Range, digits: number): ColumnForm {
  return {
    sequenceRange: limits,
    comparison: { as: 'number', decimals: 0 },
    expresses: ['minimum', 'maximum'],
    options: (limits) => boundOptions(limits, formatBound),
    literal: (text) => (new RegExp(`^-?\\d{1,${digits}}$`).test(text) ? Number(text) : undefined),
  }
}

/** The integer types of PostgreSQL. */
export const INTEGERS: ReadonlySet<string> = new Set(['smallint', 'integer', 'bigint'])

/** The common parts of `integer` and `bigint`; they differ in the PostgreSQL type and its range. */
export function integerType(cast: string, limits: Range) {
  return {
    options: { minimum: BOUND, maximum: BOUND },
    comparisons: ORDERED,
    comparesAs: 'number',
    plainTexts: ['1', '2'],
    orderable: true,
    key: true,
    column: () => cast,
    fromColumn: ({ type }: ExistingColumn) =>
      type === cast ? integerForm(limits, Math.min(String(limits.maximum).length, SAFE_DIGITS)) : undefined,
    samples: { columns: /^(?:smallint|integer|bigint)/, texts: ['1', '2', '3', '10', '100', '0', '-1'] },
    // `always`: with `by default`, an explicit value would not advance the sequence, and a later insert would fail. To insert rows with their keys,
    // use `overriding system value`; COPY does not need it.
    assigned: {
      key: 'identity',
      sql: 'generated always as identity',
      fills: ({ identity, default: value }: FilledColumn) => identity !== null || /^nextval\(/.test(value ?? ''),
    },
    rules: (options: IntegerOptions) => rules(options, limits, cast),
    conflicts: (options: IntegerOptions) => conflicts(options, limits),
    admits(_json: Json, source: string, options: IntegerOptions) {
      const value = exactInteger(source)
      if (value === undefined) return 'type'
      return within(value, rangeOf(options, limits)) ? undefined : 'range'
    },
    maxBytes: () => MAX_INTEGER_LENGTH,
    longest: () => String(limits.minimum).length,
  } satisfies Partial<FieldType<never, IntegerOptions>>
}

/** Parses the canonical text of a value in the range of a PostgreSQL integer type. */
export function parseWithin(text: string, limits: Range): bigint | undefined {
  const value = canonicalInteger(text)
  return value !== undefined && within(value, limits) ? value : undefined
}

/** Parses a JSON integer that `admits` accepted. */
export function parseAdmitted(source: string): bigint {
  const value = exactInteger(source)
  if (value === undefined) throw new Error(`not an integer: ${source}`)
  return value
}
