import type { FieldType } from '../field-type.js'
import { FORMATS } from '../spelling/formats.js'

/** A universally unique identifier. */
export const uuid: FieldType<string> = {
  name: 'uuid',
  synonyms: ['guid'],
  summary: 'A UUID (RFC 9562). Requests may use either case; responses are lower case.',
  options: {},
  typescript: 'string',
  comparisons: ['equality', 'membership'],
  comparesAs: 'text',
  orderable: true,
  key: true,
  examples: [
    {
      json: '0190163D-8694-739B-AEA5-966C26F8AD91',
      wire: '0190163d-8694-739b-aea5-966c26f8ad91',
      text: '0190163d-8694-739b-aea5-966c26f8ad91',
      value: '0190163d-8694-739b-aea5-966c26f8ad91',
    },
    {
      json: '00000000-0000-0000-0000-000000000000',
      text: '00000000-0000-0000-0000-000000000000',
      value: '00000000-0000-0000-0000-000000000000',
    },
    {
      json: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
      text: 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
      value: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    },
  ],
  column: () => 'uuid',
  fromColumn: ({ type }) =>
    type === 'uuid' ? { expresses: [], options: () => ({}), literal: (text) => text } : undefined,
  samples: {
    columns: /^uuid/,
    texts: [
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3e',
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3f',
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b40',
    ],
  },
  functions: { uuid: 'gen_random_uuid()' },
  assigned: {
    key: 'uuid',
    sql: 'default gen_random_uuid()',
    fills: ({ default: value }) => value?.endsWith(')') === true,
  },
  rules: () => [
    {
      name: 'type',
      schema: { type: 'string', format: 'uuid' },
      message: 'must be a UUID such as 0190163d-8694-739b-aea5-966c26f8ad91',
    },
  ],
  // 36 characters, each perhaps an escape of six bytes, and the quotes.
  maxBytes: () => 6 * 36 + 2,
  longest: () => 36,
  read: (text) => text,
  parse: (text) => (FORMATS.uuid?.validate(text) ? text.toLowerCase() : undefined),
  fromJson: (json) => String(json).toLowerCase(),
  write: (value) => value,
}
