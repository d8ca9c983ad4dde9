import { exceeds, type FieldType } from '../field-type.js'
import { boundOptions, rangeMessage, rangeRule } from '../spelling/exact-number.js'
import { INFINITE } from '../spelling/formats.js'
import { ORDERED } from './integer-type.js'

interface FloatOptions {
  readonly bits?: 32 | 64
  readonly minimum?: number
  readonly maximum?: number
}

/** No double needs more digits in full decimal notation. */
const MAX_DIGITS = 1100
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The nearest number of a column for a JSON number's text; undefined where PostgreSQL says "out of range". */
function nearest(text: string, { bits }: FloatOptions): number | undefined {
  if (text.length > MAX_DIGITS) return undefined
  const value = bits === 32 ? nearestSingle(Number(text)) : Number(text)
  const vanished = value === 0 && /[1-9]/.test(text.replace(/e.*/i, ''))
  return Number.isFinite(value) && !vanished ? value : undefined
}

/** The nearest 32-bit number as PostgreSQL prints it, with the fewest digits that identify it: 0.1, not 0.10000000149011612. */
function nearestSingle(value: number): number {
  const single = Math.fround(value)
  if (single === 0 || !Number.isFinite(single)) return single
  // Nine digits identify every value.
  for (let digits = 1; digits < 9; digits++) {
    const printed = roundHalfEven(single, digits)
    if (Math.fround(printed) === single && !isHalfway(printed, single)) return printed
  }
  return roundHalfEven(single, 9)
}

/** Rounds to significant digits; JavaScript rounds 2.5 to 3, PostgreSQL prints 2. */
function roundHalfEven(value: number, digits: number): number {
  const rounded = value.toExponential(digits - 1)
  const longer = value.toExponential(digits)
  const isTie = Number(longer) === value && longer.includes('5e')
  return Number(isTie && /[13579]e/.test(rounded) ? longer.replace('5e', 'e') : rounded)
}

/** Whether a number that rounds to a 32-bit number lies exactly between it and the next one; PostgreSQL prints only nearer numbers. */
function isHalfway(value: number, single: number): boolean {
  const other = 2 * value - single
  return other !== single && Math.fround(other) === other
}

function write(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

/** PostgreSQL has exponents with fewer digits than JavaScript. */
function print(value: number, { bits }: FloatOptions): string {
  const [digits, exponent = ''] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < (bits === 32 ? 6 : 15)) return write(value)
  return `${digits}e${exponent.replace(/^([+-])(\d)$/, '$10$2')}`
}

function columnOf({ bits }: FloatOptions): string {
  return bits === 32 ? 'real' : 'double precision'
}

function rangeOf(options: FloatOptions) {
  const { minimum, maximum } = options
  const texts = {
    minimum: minimum === undefined ? undefined : write(minimum),
    maximum: maximum === undefined ? undefined : write(maximum),
  }
  const rule = rangeRule(texts, columnOf(options))
  if (!rule) return []
  const schema = { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) }
  return [{ ...rule, schema, message: rangeMessage(texts.minimum, texts.maximum) }]
}

/** A floating-point number of 64 or 32 bits. */
export const float: FieldType<number, FloatOptions> = {
  name: 'float',
  synonyms: ['double', 'number'],
  summary:
    'A floating-point number (IEEE 754), such as a measurement. Digits after the 15th may be lost to rounding, with `bits: 32` after ' +
    'the 6th; `decimal` and `bigint` keep every digit.',
  options: {
    bits: { enum: [64, 32], description: '32 for a column of the type `real`.' },
    minimum: { type: 'number' },
    maximum: { type: 'number' },
  },
  documented: ({ bits }) => ({ format: bits === 32 ? 'float' : 'double' }),
  typescript: 'number',
  comparisons: ORDERED,
  orderable: true,
  key: false,
  examples: [
    { json: 0.1, text: '0.1', value: 0.1, options: { minimum: 0, maximum: 0.5 } },
    { json: 1.7976931348623157e308, text: '1.7976931348623157e308', value: 1.7976931348623157e308 },
    { json: 5e-324, text: '5e-324', value: 5e-324 },
    { json: -0, source: '-0', text: '-0', value: -0 },
    {
      json: 9007199254740992,
      source: '9007199254740993',
      text: '9007199254740992',
      value: 9007199254740992,
    },
    { json: 0.1, text: '0.100000001', value: 0.1, options: { bits: 32, minimum: 0.1 } },
    { json: 3.4028235e38, text: '3.4028235e38', value: 3.4028235e38, options: { bits: 32 } },
    { json: 1e-45, text: '1e-45', value: 1e-45, options: { bits: 32 } },
    // The shortest text that PostgreSQL prints: half of the distance to a neighbour is not near enough, and ties are even.
    { json: 942047230, source: '942047232', text: '942047232', value: 942047230, options: { bits: 32 } },
    { json: 391603.12, source: '391603.125', text: '391603.125', value: 391603.12, options: { bits: 32 } },
    { json: 16777216, source: '16777217', text: '16777217', value: 16777216, options: { bits: 32 } },
    { json: -123456789012345680000, text: '-123456789012345680000', value: -123456789012345680000 },
  ],
  column: columnOf,
  fromColumn: ({ type }) =>
    /^(?:real|double precision)$/.test(type)
      ? {
          comparison: { as: 'number', decimals: undefined },
          expresses: ['minimum', 'maximum'],
          options: (limits) => ({ ...(type === 'real' && { bits: 32 }), ...boundOptions(limits, Number) }),
          literal: (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined),
        }
      : undefined,
  samples: { columns: /^(?:double|real)/, texts: ['1.5', '2', '3', '0', '-1'] },
  rules: (options) => [
    {
      name: 'type',
      schema: { type: 'number' },
      message: `must be a number that a ${options.bits ?? 64}-bit float can hold`,
    },
    ...rangeOf(options),
  ],
  conflicts(options) {
    const { bits = 64, minimum = -Infinity, maximum = Infinity } = options
    const beyond = (['minimum', 'maximum'] as const).filter(
      (option) => options[option] !== undefined && nearest(String(options[option]), options) === undefined,
    )
    if (beyond.length > 0)
      return beyond.map((option) => ({
        option,
        message: `${options[option]} is not a number that a ${bits}-bit float can hold`,
      }))
    return minimum > maximum ? [exceeds('minimum', minimum, 'maximum', maximum)] : []
  },
  admits(_json, source, options) {
    const value = nearest(source, options)
    if (value === undefined) return 'type'
    const { minimum = -Infinity, maximum = Infinity } = options
    return value < minimum || value > maximum ? 'range' : undefined
  },
  maxBytes: () => MAX_DIGITS,
  // `-0.0000012345678901234567`
  longest: () => 25,
  read: Number,
  parse: (text, options) =>
    INFINITE.has(text) ? Number(text) : NUMBER.test(text) ? nearest(text, options) : undefined,
  fromJson: (_json, source, { bits }) => (bits === 32 ? nearestSingle(Number(source)) : Number(source)),
  write,
  print,
}
