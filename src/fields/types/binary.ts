import type { Json } from '../../foundation/json.js'
import type { FieldType } from '../field-type.js'
import { isBase64 } from '../spelling/formats.js'

interface BinaryOptions {
  readonly max?: number
}

/** What `isBase64` accepts. Not used for validation, because a pattern needs memory for each character. */
const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$'

/** The longest value that PostgreSQL stores. */
const MAX_BYTES = 1_073_741_823

function bytesIn(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

function charactersFor(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}

/** Bytes of any kind. */
export const binary: FieldType<string, BinaryOptions> = {
  name: 'binary',
  synonyms: ['bytea', 'blob', 'bytes', 'base64'],
  summary:
    'Bytes, such as a small image or a digest: a string in base64 (RFC 4648, section 4), with padding and without line breaks.',
  options: { max: { type: 'integer', minimum: 1, maximum: MAX_BYTES, description: 'The maximum number of bytes.' } },
  documented: () => ({ contentEncoding: 'base64' }),
  documentedRules: () => ({ pattern: BASE64 }),
  typescript: 'string',
  comparisons: ['equality', 'membership'],
  orderable: false,
  key: true,
  escapes: () => true,
  examples: [
    { json: 'iVBORw0KGgo=', text: 'iVBORw0KGgo=', value: 'iVBORw0KGgo=' },
    { json: '+/8=', text: '+/8=', value: '+/8=', options: { max: 2 } },
    { json: '', text: '', value: '' },
  ],
  column: () => 'bytea',
  fromColumn: ({ type }) =>
    type === 'bytea'
      ? {
          comparison: { as: 'bytes' },
          expresses: ['max'],
          options: ({ max }) => (max === undefined ? {} : { max }),
          literal: (text) =>
            /^\\x(?:[0-9a-f]{2})*$/.test(text) ? Buffer.from(text.slice(2), 'hex').toString('base64') : undefined,
        }
      : undefined,
  samples: { columns: /^bytea/, texts: ['\\x', '\\x00', '\\x61', '\\xff', '\\x6162'] },
  rules: ({ max }) => [
    {
      name: 'type',
      schema: { type: 'string', format: 'base64' },
      message: 'must be base64 with padding, such as "SGVsbG8="',
    },
    ...(max === undefined
      ? []
      : [
          {
            name: 'length',
            schema: { maxLength: charactersFor(max) },
            message: `must be at most ${max} ${max === 1 ? 'byte' : 'bytes'}`,
            check: (column: string) => `octet_length(${column}) <= ${max}`,
          },
        ]),
  ],
  admits: (json: Json, _source, { max }) => (max !== undefined && bytesIn(String(json)) > max ? 'length' : undefined),
  // Each character can be written as an escape of six bytes.
  maxBytes: ({ max }) => (max === undefined ? undefined : 6 * charactersFor(max) + 2),
  longest: ({ max }) => (max === undefined ? undefined : 2 * max + 2),
  // PostgreSQL breaks lines of base64 (RFC 2045).
  select: (column) => `translate(encode(${column}, 'base64'), e'\\n', '')`,
  read: (text) => text,
  parse: (text) => (isBase64(text) ? text : undefined),
  fromJson: String,
  format: (value) => value,
  write: (value) => `\\x${Buffer.from(value, 'base64').toString('hex')}`,
}
