import type { FieldType } from '../field-type.js'
import { isStorable } from '../spelling/formats.js'

interface OpaqueOptions {
  readonly column_type: string
}

/** A value of a type that no other field type describes. */
export const opaque: FieldType<string, OpaqueOptions> = {
  name: 'opaque',
  summary:
    'A value of any other PostgreSQL type, such as `tsvector` or `point`: a string in PostgreSQL’s own text form. Responses show it, ' +
    'requests cannot set it.',
  options: {
    column_type: {
      type: 'string',
      pattern: '^(?:[A-Za-z0-9_ .,()\\[\\]-]|"[^"]*"){1,200}$',
      description: 'The type of the column, as PostgreSQL prints it.',
    },
  },
  required: ['column_type'],
  readOnly: true,
  typescript: 'string',
  comparisons: [],
  orderable: false,
  key: false,
  mayBeRow: true,
  examples: [],
  column: ({ column_type }) => column_type,
  fromColumn: ({ type, collation }) =>
    collation === null ? { expresses: [], options: () => ({ column_type: type }) } : undefined,
  rules: () => [{ name: 'type', schema: { type: 'string', format: 'storable-text' }, message: 'must be a string' }],
  maxBytes: () => undefined,
  longest: () => undefined,
  select: (column) => `${column}::text`,
  read: (text) => text,
  parse: (text) => (isStorable(text) ? text : undefined),
  fromJson: (json) => String(json),
  write: (value) => value,
}
