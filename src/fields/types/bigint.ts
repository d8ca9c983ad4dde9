import type { FieldType } from '../field-type.js'
import { parseAdmitted, type IntegerOptions, integerType, parseWithin } from './integer-type.js'

const LIMITS = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/** A whole number of 64 bits. */
export const bigint: FieldType<bigint, IntegerOptions> = {
  ...integerType('bigint', LIMITS),
  name: 'bigint',
  synonyms: ['int8', 'long', 'bigserial', 'serial'],
  summary: 'A 64-bit integer, exact also above 2^53.',
  documented: () => ({ format: 'int64' }),
  typescript: 'bigint',
  examples: [
    { json: 0, text: '0', value: 0n },
    { json: 2 ** 63, source: '9223372036854775807', text: '9223372036854775807', value: 2n ** 63n - 1n },
    { json: -(2 ** 63), source: '-9223372036854775808', text: '-9223372036854775808', value: -(2n ** 63n) },
    { json: 2 ** 53, source: '9007199254740993', text: '9007199254740993', value: 2n ** 53n + 1n },
  ],
  read: BigInt,
  parse: (text) => parseWithin(text, LIMITS),
  fromJson: (_json, source) => parseAdmitted(source),
  write: String,
}
