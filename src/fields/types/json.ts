import { isDeepStrictEqual } from 'node:util'
import { FORBIDDEN_NAMES, type Json } from '../../foundation/json.js'
import { errorOfJson } from '../../foundation/json-body.js'
import type { FieldType } from '../field-type.js'
import { isRounded, JsonMergePatch, JsonText, unstorable } from '../spelling/json-text.js'
import { storedBytes } from '../spelling/stored-json.js'

/** Handlers may write a plain value, whose digits JavaScript knows exactly. */
function write(value: unknown): string {
  const text = value instanceof JsonText ? value.text : JSON.stringify(value)
  if (text === undefined) throw new TypeError(`a ${typeof value} is not a JSON value, so it cannot be stored`)
  return text
}

/** The literal of a default; undefined for one that resources.yaml cannot have, or that would be read as the call of a function. */
function literal(text: string): Json | undefined {
  const value = JSON.parse(text) as Json
  return value === null || 'function' in Object(value) || isRounded(text) || !isWritable(value) ? undefined : value
}

/** Whether YAML can have the value: some keys are rejected, and deep nesting. */
function isWritable(value: Json, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return true
  const isAllowed = (key: string) => key !== '<<' && !FORBIDDEN_NAMES.has(key)
  return levels > 0 && Object.entries(value).every(([key, member]) => isAllowed(key) && isWritable(member, levels - 1))
}

interface JsonOptions {
  readonly max?: number
}

/** Merged patches could otherwise make a value as long as PostgreSQL can store, and each response with it. */
const STANDARD_MAX = 1_048_576

/** The deepest default that `introspect` writes: a file may have twenty levels, and the field is at the fifth. */
const MAX_LEVELS = 10

/** The longest value that PostgreSQL stores. */
const MAX_BYTES = 268_435_455

/** Any JSON value. */
export const json: FieldType<JsonText, JsonOptions> = {
  name: 'json',
  synonyms: ['object', 'jsonb'],
  summary:
    'Any JSON value but a bare null, stored as jsonb: numbers keep every digit; the order of keys and the ' +
    'spelling of numbers are those of PostgreSQL. A default is any value but an object with the key `function`. A JSON null that another program has stored is null in responses and dumps; a request or `seed` that sends null back leaves it unchanged, ' +
    'which only a nullable field accepts.',
  options: {
    max: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_BYTES,
      description:
        `The maximum number of bytes as PostgreSQL prints the value, with a space after each comma and colon; ${STANDARD_MAX} by default, ` +
        'without a constraint in the database.',
    },
  },
  typescript: 'JsonText',
  comparisons: [],
  orderable: false,
  key: false,
  objects: true,
  examples: [
    {
      json: { b: [1, null, true, '😀'], a: {} },
      text: '{"b":[1,null,true,"😀"],"a":{}}',
      value: new JsonText('{"b":[1,null,true,"😀"],"a":{}}'),
    },
    {
      json: 2 ** 63,
      source: '9223372036854775809',
      text: '9223372036854775809',
      value: new JsonText('9223372036854775809'),
    },
    { json: 1e300, source: '1e300', text: '1e300', value: new JsonText('1e300') },
    {
      json: 'it\'s "quoted" \\ ',
      text: '"it\'s \\"quoted\\" \\\\ "',
      value: new JsonText('"it\'s \\"quoted\\" \\\\ "'),
    },
    { json: false, text: 'false', value: new JsonText('false') },
  ],
  column: () => 'jsonb',
  fromColumn: ({ type }) =>
    type === 'jsonb'
      ? {
          comparison: { as: 'json' },
          expresses: ['max'],
          options: ({ max }) => (max === undefined ? {} : { max }),
          literal,
        }
      : undefined,
  samples: { columns: /^jsonb?/, texts: ['{"a": 1}', '[1, "b"]', 'true'] },
  rules: ({ max }) => [
    { name: 'type', schema: { not: { type: 'null' } }, message: 'must be a JSON value other than null' },
    { name: 'text', schema: {}, message: 'must not contain U+0000 or an unpaired surrogate' },
    { name: 'depth', schema: {}, message: 'must not nest more than 100 levels deep' },
    { name: 'numbers', schema: {}, message: 'must not contain numbers that take more than 1000 digits to write out' },
    {
      name: 'length',
      schema: {},
      message: `must be at most ${max ?? STANDARD_MAX} bytes, counting a space after each comma and colon`,
      ...(max === undefined ? {} : { check: (column: string) => `octet_length(${column}::text) <= ${max}` }),
    },
  ],
  admits: unstorable,
  admitsWhole: (_json, source, { max = STANDARD_MAX }) => (storedBytes(source) > max ? 'length' : undefined),
  // Each byte can be written as an escape of six bytes.
  maxBytes: ({ max }) => (max === undefined ? undefined : 6 * max),
  longest: () => undefined,
  read: (text) => new JsonText(text),
  parse(text) {
    try {
      return errorOfJson(text) === undefined && unstorable(JSON.parse(text), text) === undefined
        ? new JsonText(text)
        : undefined
    } catch {
      return undefined
    }
  },
  fromJson: (_json, source) => new JsonText(source),
  patch: (json, source, { max = STANDARD_MAX }) =>
    typeof json === 'object' && json !== null && !Array.isArray(json) ? new JsonMergePatch(source, max) : undefined,
  // JavaScript clients send 1.0 back as 1.
  exact: (value) => `(${value})::jsonb`,
  isReadAsNull: (column) => `jsonb_typeof(${column}) = 'null'`,
  write,
  areEqual: (one, other) =>
    !isRounded(one) && !isRounded(other) && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)),
}
