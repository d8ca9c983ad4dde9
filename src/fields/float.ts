import type { FieldType } from './field-type.js'
import { boundOptions, rangeMessage, rangeRule } from './exact-number.js'
import { ORDERED } from './integer-type.js'

interface FloatOptions {
  readonly minimum?: number
  readonly maximum?: number
}

/** No double needs more digits to be written out in full. */
const LONGEST = 1100
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** What JSON has no number for, and other programs can store. */
const FOREIGN = new Set(['NaN', 'Infinity', '-Infinity'])

/** The nearest double to a JSON number's text; undefined where PostgreSQL says "out of range". */
const nearest = (text: string): number | undefined => {
  if (text.length > LONGEST) return undefined
  const value = Number(text)
  const vanished = value === 0 && /[1-9]/.test(text.replace(/e.*/i, ''))
  return Number.isFinite(value) && !vanished ? value : undefined
}

const write = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

const rangeOf = ({ minimum, maximum }: FloatOptions) => {
  const texts = {
    minimum: minimum === undefined ? undefined : write(minimum),
    maximum: maximum === undefined ? undefined : write(maximum),
  }
  const rule = rangeRule(texts, 'double precision')
  if (!rule) return []
  const schema = { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) }
  return [{ ...rule, schema, message: rangeMessage(texts.minimum, texts.maximum) }]
}

/** A floating-point number of 64 bits. */
export const float: FieldType<number, FloatOptions> = {
  name: 'float',
  synonyms: ['double', 'number'],
  summary:
    'A floating-point number (IEEE 754, 64 bits), such as a measurement. Numbers of more than 15 digits may be rounded; ' +
    '`decimal` and `bigint` keep every digit.',
  options: { minimum: { type: 'number' }, maximum: { type: 'number' } },
  documented: () => ({ format: 'double' }),
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
    { json: -123456789012345680000, text: '-123456789012345680000', value: -123456789012345680000 },
  ],
  column: () => 'double precision',
  fromColumn: ({ type }) =>
    /^(?:real|double precision)$/.test(type)
      ? {
          comparison: { as: 'number', decimals: undefined },
          expresses: ['minimum', 'maximum'],
          options: (limits) => boundOptions(limits, Number),
          literal: (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined),
        }
      : undefined,
  serves: ({ type }) => type === 'real',
  samples: { columns: /^(?:double|real)/, texts: ['1.5', '2', '3', '0', '-1'] },
  rules: (options) => [
    { name: 'type', schema: { type: 'number' }, message: 'must be a number that a 64-bit float can hold' },
    ...rangeOf(options),
  ],
  conflicts: ({ minimum = -Infinity, maximum = Infinity }) =>
    minimum > maximum
      ? [{ option: 'minimum', message: `\`minimum\` is ${minimum}, which is more than \`maximum\`, ${maximum}` }]
      : [],
  admits: (_json, source) => (nearest(source) === undefined ? 'type' : undefined),
  maxBytes: () => LONGEST,
  // `-0.0000012345678901234567`
  longest: () => 25,
  read: Number,
  parse: (text) => (FOREIGN.has(text) ? Number(text) : NUMBER.test(text) ? nearest(text) : undefined),
  fromJson: (_json, source) => Number(source),
  write,
}
