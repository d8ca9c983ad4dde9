import type { FieldType } from '../field-type.js'
import { isStorable } from '../spelling/formats.js'

interface OpaqueOptions {
  readonly column_type: string
}

const NAME = String.raw`(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\u0000]|"")+")`
const WORDS = '(?: [A-Za-z]+)*'
/** A type name, optionally qualified by a schema and followed by words, sizes and brackets: `double precision`, `bit varying(8)[]`. */
const TYPE = String.raw`^${NAME}(?:\.${NAME})?${WORDS}(?: ?\([A-Za-z0-9_ .,"-]+\)${WORDS})?(?:\[[0-9]*\])*$`

/** The types of PostgreSQL that only this field type serves. */
export const OPAQUE_TYPES: readonly string[] = [
  ...['tsvector', 'tsquery', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle'],
  ...['money', 'macaddr', 'macaddr8', 'pg_lsn', 'jsonpath', 'xml'],
  ...['int4', 'int8', 'num', 'ts', 'tstz', 'date'].flatMap((part) => [`${part}range`, `${part}multirange`]),
]

/** A value of a type that no other field type describes. */
export const opaque: FieldType<string, OpaqueOptions> = {
  name: 'opaque',
  summary:
    'A value of any other PostgreSQL type, such as `tsvector` or `point`: a string in PostgreSQL’s own text form. Responses show it, ' +
    'requests cannot set it.',
  options: {
    column_type: {
      type: 'string',
      pattern: TYPE,
      maxLength: 200,
      patternErrorMessage:
        'write the type as PostgreSQL prints it, such as `tsvector`, `bit varying(8)[]` or `public."My type"`',
      description: 'The type of the column, as PostgreSQL prints it.',
    },
  },
  required: ['column_type'],
  readOnly: true,
  typescript: 'string',
  comparisons: [],
  orderable: false,
  key: false,
  mayBeComposite: true,
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
