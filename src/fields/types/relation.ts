import { printCell } from '../cell.js'
import type { FieldType, Typed } from '../field-type.js'

/** `key` is the type of the referenced field with its options. It is resolved from the model and is not a key of the YAML. */
export interface RelationOptions {
  readonly model: string
  /** The field of the other model that it refers to. */
  readonly references: string
  readonly key: Typed
}

/** A reference to a record of another model: in every form, the value of that record's primary key or of another unique field. */
export const belongsTo: FieldType<unknown, RelationOptions> = {
  name: 'belongs_to',
  synonyms: ['ref', 'relation', 'foreign_key'],
  summary: 'The primary key, or another unique field, of a record of another model, with a foreign key.',
  options: {
    model: { type: 'string', minLength: 1 },
    references: { type: 'string', minLength: 1 },
    on_delete: { enum: ['restrict', 'cascade', 'set_null'], default: 'restrict' },
  },
  required: ['model'],
  documented: ({ key: { type, options } }) => type.documented?.(options) ?? {},
  documentedRules: ({ key: { type, options } }) => type.documentedRules?.(options) ?? {},
  typescript: 'bigint | number | string',
  typescriptOf: ({ key: { type, options } }) => type.typescriptOf?.(options) ?? type.typescript,
  comparisons: ['equality', 'membership'],
  comparesAs: 'key',
  orderable: true,
  key: true,
  escapes: ({ key: { type, options } }) => type.escapes?.(options) ?? false,
  // A value must refer to an existing record; the key's own type has the examples.
  examples: [],
  examplesOf: ({ key: { type, options } }) => type.examplesOf?.(options) ?? type.examples,
  column: ({ key: { type, options } }) => type.column(options),
  serves: (column, { key: { type, options } }) => type.serves?.(column, options) ?? false,
  rules: ({ key: { type, options }, model, references }) =>
    type.rules(options).map(({ name, schema, described }) => ({
      name,
      schema,
      ...(described && { described }),
      message: `must be the ${references} of an existing ${model}`,
    })),
  admits: (json, source, { key: { type, options } }) => type.admits?.(json, source, options),
  maxBytes: ({ key: { type, options } }) => type.maxBytes(options),
  longest: ({ key: { type, options } }) => type.longest(options),
  select: (column, { key: { type, options } }) => type.select?.(column, options) ?? column,
  read: (text, { key: { type, options } }) => type.read(text, options),
  parse: (text, { key: { type, options } }) => type.parse(text, options),
  parseStored: (text, { key: { type, options } }) => (type.parseStored ?? type.parse)(text, options),
  fromJson: (json, source, { key: { type, options } }) => type.fromJson(json, source, options),
  write: (value, { key: { type, options } }) => type.write(value, options),
  format: (value, { key: { type, options } }) => (type.format ?? type.write)(value, options),
  print: (value, { key }) => printCell(key, value),
}
