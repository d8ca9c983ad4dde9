import type { FieldType } from './field-type.js'

/** `key` is the type of the target's primary key; config fills it in, so that it cannot be written in YAML. */
export interface RelationOptions {
  readonly model: string
  readonly key: FieldType
}

/** A reference to a record of another model: in every form the value of that record's primary key. */
export const belongsTo: FieldType<unknown, RelationOptions> = {
  name: 'belongs_to',
  synonyms: ['ref', 'relation', 'foreign_key'],
  summary: 'The primary key of a record of another model, with a foreign key.',
  options: {
    model: { type: 'string', minLength: 1 },
    on_delete: { enum: ['restrict', 'cascade', 'set_null'], default: 'restrict' },
  },
  required: ['model'],
  documented: ({ key }) => key.documented?.({}) ?? {},
  typescript: 'bigint | number | string',
  typescriptOf: ({ key }) => key.typescript,
  comparisons: ['equality', 'membership'],
  orderable: true,
  key: false,
  // A value needs a record to point at; the key's own type has the examples.
  examples: [],
  examplesOf: ({ key }) => key.examples,
  column: ({ key }) => key.column({}),
  serves: (column, { key }) => key.serves?.(column, {}) ?? false,
  rules: ({ key, model }) =>
    key.rules({}).map(({ name, schema }) => ({ name, schema, message: `must be the id of an existing ${model}` })),
  admits: (json, source, { key }) => key.admits?.(json, source, {}),
  maxBytes: ({ key }) => key.maxBytes({}),
  longest: ({ key }) => key.longest({}),
  read: (text, { key }) => key.read(text, {}),
  parse: (text, { key }) => key.parse(text, {}),
  fromJson: (json, source, { key }) => key.fromJson(json, source, {}),
  write: (value, { key }) => key.write(value, {}),
}
