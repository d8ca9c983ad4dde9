import type { FieldType } from '../field-type.js'
import { isStorable } from '../spelling/formats.js'
import { COLLATION, collated, collationOption, STORABLE, textType } from '../text-rules.js'

interface CharOptions {
  readonly length: number
  readonly collation?: string
}

const WIDTH = /^character\((\d+)\)$/

const { typescript, orderable, key, escapes, read, fromJson, write } = textType(true)

/** Text that PostgreSQL pads with spaces. */
export const char: FieldType<string, CharOptions> = {
  name: 'char',
  summary:
    'Text in a column of the type `character(n)`, which is common in older schemas. PostgreSQL pads it with spaces, which responses do not show; requests with ' +
    'spaces at the end are rejected. Use `string` for new columns.',
  options: {
    length: {
      type: 'integer',
      minimum: 1,
      maximum: 10_485_760,
      description: 'The number of characters of the column.',
    },
    collation: COLLATION,
  },
  required: ['length'],
  typescript,
  comparisons: ['equality', 'membership'],
  orderable,
  key,
  escapes,
  examples: [
    { json: 'DE', text: 'DE', value: 'DE', options: { length: 2 } },
    { json: '', text: '', value: '', options: { length: 5 } },
    { json: ' a b', text: ' a b', value: ' a b', options: { length: 10 } },
    { json: '😀', text: '😀', value: '😀', options: { length: 3 } },
  ],
  column: ({ length, collation }) => collated(`char(${length})`, collation),
  fromColumn(column) {
    const length = WIDTH.exec(column.type)?.[1]
    if (length === undefined) return undefined
    return {
      expresses: [],
      options: () => ({ length: Number(length), ...collationOption(column) }),
      literal: (text) => text,
    }
  },
  samples: { columns: /^character\(/, texts: ['a', 'b', 'c', 'A', ''] },
  rules: ({ length }) => [
    { name: 'type', schema: { type: 'string' }, message: 'must be a string' },
    STORABLE,
    {
      name: 'length',
      schema: { maxLength: length },
      message: `must be at most ${length} ${length === 1 ? 'character' : 'characters'}`,
    },
    { name: 'blank', schema: { pattern: '(?:^|[^ ])$' }, message: 'must not end with a space' },
  ],
  maxBytes: ({ length }) => 12 * length + 2,
  longest: ({ length }) => length,
  select: (column) => `${column}::text`,
  read,
  // PostgreSQL ignores spaces at the end when it compares: with them, a key would have several addresses.
  parse: (text) => (isStorable(text) && !text.endsWith(' ') ? text : undefined),
  fromJson,
  write,
  print: (value, { length }) => value + ' '.repeat(Math.max(0, length - [...value].length)),
}
