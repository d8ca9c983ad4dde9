import { boundOptions, compareDecimals, fromSteps, rangeRule, toSteps } from '../spelling/exact-number.js'
import { exceeds, type FieldType } from '../field-type.js'
import { DECIMAL, INFINITE } from '../spelling/formats.js'
import { ORDERED } from './integer-type.js'

interface DecimalOptions {
  /** Left out, as is `scale`, for a column that takes any number of digits. */
  readonly precision?: number
  readonly scale?: number
  readonly minimum?: number | string
  readonly maximum?: number | string
}

/** Digits of the largest `precision`, and of all values in columns without one: fewer than `numeric` holds. */
const MAX_DIGITS = 1000
/** Longer than any useful filter value. */
const MAX_TEXT_LENGTH = 1100
const BOUND = { anyOf: [{ type: 'number' }, { type: 'string', pattern: DECIMAL.source }] }

function boundsOf({ minimum, maximum }: DecimalOptions) {
  return {
    minimum: minimum === undefined ? undefined : String(minimum),
    maximum: maximum === undefined ? undefined : String(maximum),
  }
}

/** As PostgreSQL prints it: `12.5` and `12.500` with a scale of 2 are `12.50`; without a scale, every zero stays. Zero has no sign. */
function canonical(text: string, scale: number | undefined): string {
  const [whole = '', fraction = ''] = text.split('.')
  const padded = scale === undefined ? fraction : withoutZerosAfter(fraction, scale).padEnd(scale, '0')
  const plain = padded === '' ? whole : `${whole}.${padded}`
  return /[1-9]/.test(plain) ? plain : plain.replace('-', '')
}

function withoutZerosAfter(fraction: string, scale: number): string {
  const isZero = /^0*$/.test(fraction.slice(scale))
  return isZero ? fraction.slice(0, scale) : fraction
}

/** Without a zero before the point, which no `precision` counts. */
function digitsIn(text: string): number {
  return text.replace(/^-?0?\./, '').replace(/[-.]/g, '').length
}

function digitsPattern({ precision, scale }: DecimalOptions): string {
  if (precision === undefined || scale === undefined) return DECIMAL.source
  const more = precision - scale - 1
  const whole = more < 0 ? '0' : `(0|[1-9][0-9]{0,${more}})`
  return `^-?${whole}${scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`}$`
}

function digits(count: number): string {
  return `${count} ${count === 1 ? 'digit' : 'digits'}`
}

function digitsMessage({ precision, scale }: DecimalOptions): string {
  if (precision === undefined || scale === undefined) return `must have at most ${digits(MAX_DIGITS)}`
  if (scale === 0) return `must have at most ${digits(precision)}, none of them after a point`
  if (scale === precision) return `must have 0 before the point and at most ${digits(scale)} after it`
  return `must have at most ${digits(precision - scale)} before the point and at most ${digits(scale)} after it`
}

function boundConflict(option: 'minimum' | 'maximum', value: string | undefined) {
  return value === undefined || (DECIMAL.test(value) && value.length <= 16)
    ? []
    : [{ option, message: `YAML may round ${value}; write it in quotes, as digits and a point` }]
}

function longestOf({ precision = MAX_DIGITS }: DecimalOptions): number {
  return precision + 3
}

/** A decimal number; its options may set the number of digits after the point. */
export const decimal: FieldType<string, DecimalOptions> = {
  name: 'decimal',
  synonyms: ['numeric', 'number'],
  summary:
    'An exact decimal number, such as an amount of money; a string in JSON. `precision` counts all digits, `scale` the digits after ' +
    'the point. Responses have all of them: "12.5" is returned as "12.50". Without `precision` and `scale`, values have up to 1000 digits and are ' +
    'returned as they were sent.',
  options: {
    precision: { type: 'integer', minimum: 1, maximum: 1000 },
    scale: { type: 'integer', minimum: 0, maximum: 1000 },
    minimum: BOUND,
    maximum: BOUND,
  },
  together: ['precision', 'scale'],
  typescript: 'string',
  comparisons: ORDERED,
  comparesAs: 'number',
  plainTexts: ['1', '2'],
  orderable: true,
  key: true,
  // `1.5` equals `1.50`.
  hasManySpellings: ({ scale }) => scale === undefined,
  escapes: () => true,
  examples: [
    { json: '12.5', wire: '12.50', text: '12.50', value: '12.50', options: { precision: 10, scale: 2 } },
    { json: '-0', wire: '0.00', text: '0', value: '0.00', options: { precision: 10, scale: 2 } },
    { json: '0.99', text: '0.99', value: '0.99', options: { precision: 2, scale: 2 } },
    {
      json: '-99999999999999999999999999999999999999',
      text: '-99999999999999999999999999999999999999',
      value: '-99999999999999999999999999999999999999',
      options: { precision: 38, scale: 0 },
    },
    { json: '0.10', text: '0.1', value: '0.10', options: { precision: 4, scale: 2, minimum: '0.10', maximum: 99.5 } },
    { json: '-0.10', text: '-0.10', value: '-0.10' },
  ],
  documentedRules: (options) => {
    const { minimum, maximum } = boundsOf(options)
    const isPositive = minimum !== undefined && !minimum.startsWith('-')
    return {
      pattern: isPositive ? digitsPattern(options).replace('-?', '') : digitsPattern(options),
      ...(minimum !== undefined && { 'x-minimum': minimum }),
      ...(maximum !== undefined && { 'x-maximum': maximum }),
    }
  },
  column: ({ precision, scale }) => (precision === undefined ? 'numeric' : `numeric(${precision},${scale})`),
  fromColumn({ type }) {
    if (type === 'numeric') {
      return {
        comparison: { as: 'number', decimals: 'any' },
        expresses: ['minimum', 'maximum'],
        options: (limits) => boundOptions(limits, String),
        literal: (text) => (DECIMAL.test(text) ? text : undefined),
      }
    }
    const [precision, scale] = (/^numeric\((\d+),(\d+)\)$/.exec(type) ?? []).slice(1).map(Number)
    if (precision === undefined || scale === undefined || scale > precision) return undefined
    return {
      comparison: { as: 'number', decimals: scale },
      expresses: ['minimum', 'maximum'],
      options: (limits) => ({ precision, scale, ...boundOptions(limits, String) }),
      literal(text) {
        const steps = toSteps(text, scale)
        return steps === undefined ? undefined : fromSteps(steps, scale)
      },
    }
  },
  samples: { columns: /^numeric/, texts: ['1', '2', '3', '0.5', '0'] },
  rules(options) {
    const range = rangeRule(boundsOf(options), 'numeric')
    const example = options.scale === 0 ? '12' : '12.50'
    return [
      {
        name: 'type',
        schema: { type: 'string', format: 'decimal' },
        message: `must be a decimal string such as "${example}"`,
      },
      {
        name: 'digits',
        schema: options.scale === undefined ? { maxLength: longestOf(options) } : { pattern: digitsPattern(options) },
        message: digitsMessage(options),
      },
      ...(range ? [range] : []),
    ]
  },
  conflicts(options) {
    const { minimum, maximum } = boundsOf(options)
    const inexact = [
      ...(typeof options.minimum === 'number' ? boundConflict('minimum', minimum) : []),
      ...(typeof options.maximum === 'number' ? boundConflict('maximum', maximum) : []),
    ]
    if (inexact.length > 0) return inexact
    const { precision, scale } = options
    if ((precision === undefined) !== (scale === undefined)) {
      const [option, other] = precision === undefined ? ['scale', 'precision'] : ['precision', 'scale']
      return [
        {
          option,
          message: `\`${option}\` needs \`${other}\` as well; without both, values have up to ${MAX_DIGITS} digits`,
        },
      ]
    }
    return [
      ...(scale !== undefined && precision !== undefined && scale > precision
        ? [exceeds('scale', scale, 'precision', precision)]
        : []),
      ...(minimum !== undefined && maximum !== undefined && compareDecimals(minimum, maximum) > 0
        ? [exceeds('minimum', minimum, 'maximum', maximum)]
        : []),
    ]
  },
  admits(json, _source, options) {
    if (options.precision === undefined && digitsIn(String(json)) > MAX_DIGITS) return 'digits'
    const { minimum, maximum } = boundsOf(options)
    const below = minimum !== undefined && compareDecimals(String(json), minimum) < 0
    const above = maximum !== undefined && compareDecimals(String(json), maximum) > 0
    return below || above ? 'range' : undefined
  },
  // Sign, point, a zero before it, quotes; each character can be written as an escape of six bytes.
  maxBytes: (options) => 6 * longestOf(options) + 2,
  longest: (options) => (options.precision === undefined ? undefined : longestOf(options)),
  select: (column) => `${column}::text`,
  read: (text) => text,
  parse(text, { scale }) {
    if (INFINITE.has(text)) return text
    return DECIMAL.test(text) && text.length <= MAX_TEXT_LENGTH ? canonical(text, scale) : undefined
  },
  fromJson: (json, _source, { scale }) => canonical(String(json), scale),
  write: (value) => value,
}
