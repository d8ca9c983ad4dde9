import type { FieldType } from '../field-type.js'
import { parseAdmitted, type IntegerOptions, integerType, parseWithin } from './integer-type.js'

const SMALLINT = { minimum: '-32768', maximum: '32767' }
const LIMITS = { minimum: -(2n ** 31n), maximum: 2n ** 31n - 1n }

/** A column can be wider than 32 bits; beyond these limits, a number would name another row. */
const EXACT = { minimum: BigInt(Number.MIN_SAFE_INTEGER), maximum: BigInt(Number.MAX_SAFE_INTEGER) }

const SHARED = integerType('integer', LIMITS)

function numberWithin(text: string, limits: typeof LIMITS): number | undefined {
  const value = parseWithin(text, limits)
  return value === undefined ? undefined : Number(value)
}

/** A whole number of 32 bits. */
export const integer: FieldType<number, IntegerOptions> = {
  ...SHARED,
  name: 'integer',
  synonyms: ['int', 'int4', 'serial', 'number'],
  summary: 'An integer from -2147483648 to 2147483647.',
  documented: () => ({ format: 'int32' }),
  typescript: 'number',
  examples: [
    { json: 0, text: '0', value: 0 },
    { json: 2147483647, text: '2147483647', value: 2147483647 },
    { json: -2147483648, text: '-2147483648', value: -2147483648 },
    { json: 1000, source: '1e3', text: '1000', value: 1000, options: { minimum: 1, maximum: 1000 } },
  ],
  fromColumn(column) {
    if (column.type !== 'smallint') return SHARED.fromColumn(column)
    const form = SHARED.fromColumn({ ...column, type: 'integer' })
    const sequenceRange = { minimum: BigInt(SMALLINT.minimum), maximum: BigInt(SMALLINT.maximum) }
    return form && { ...form, limits: SMALLINT, sequenceRange }
  },
  // Parameters take the type of the column, so the statements are the same.
  serves: ({ type }) => type === 'smallint',
  read: Number,
  parse: (text) => numberWithin(text, LIMITS),
  parseStored: (text) => numberWithin(text, EXACT),
  fromJson: (_json, source) => Number(parseAdmitted(source)),
  write: String,
}
