import { FIELD_TYPES } from '../../fields/index.js'
import type { FieldType } from '../../fields/field-type.js'
import type { JsonSchema } from '../../json.js'
import { doc, flag, listOf, mapping, named, NAMED } from './parts.js'
import { article } from '../words.js'

/** The functions that `default:` can call, and the names of the types whose values they make. */
export const DEFAULT_FUNCTIONS = { now: typesThatCall('now'), uuid: typesThatCall('uuid') } as const

function typesThatCall(name: 'now' | 'uuid'): readonly string[] {
  return FIELD_TYPES.filter(({ functions }) => functions?.[name] !== undefined).map((type) => type.name)
}

const functionKey = (): JsonSchema =>
  doc(
    { enum: Object.keys(DEFAULT_FUNCTIONS) },
    'What makes the value: `now` is the time of the transaction, and `uuid` a random one.',
    'default: { function: now }',
  )

const commonKeys = (): Readonly<Record<string, JsonSchema>> => ({
  primary_key: flag('The field that identifies a record; exactly one per model. The server assigns its values.'),
  nullable: flag('Whether the field may be null.'),
  unique: flag('Whether no two records may have the same value.'),
  default: doc(
    {
      if: { type: 'object' },
      then: mapping('a default', { function: functionKey() }, ['function']),
    },
    'The value of a field that a request leaves out: a literal, or a function of the database.',
    'default: draft\ndefault: { function: now }',
  ),
  auto: doc(
    { enum: ['on_create', 'on_update'] },
    'Set by the server to the current time, when the record is made or each time it is changed.',
  ),
  read_only: flag('In answers, never taken from a request.'),
  write_only: flag('Taken from requests, never in answers.'),
  private: flag('In storage only: neither taken from requests nor in answers.'),
  renamed_from: doc(
    { type: 'string', ...NAMED },
    'What the field was called before, so that the next migration renames its column and keeps the values.',
    'renamed_from: heading',
  ),
  label: doc(
    { type: 'string', minLength: 1, maxLength: 100 },
    'How messages call the field; its name, capitalised, when left out.',
  ),
  message: doc(
    { type: 'string', minLength: 1, maxLength: 500 },
    'Replaces the message of every broken rule of the field.',
  ),
})

/** What options mean that several types share; a type may say more in the option's own schema. */
const OPTION_TEXTS: Readonly<Record<string, string>> = {
  min: 'The least number of characters.',
  max: 'The greatest number of characters.',
  minimum: 'The least value.',
  maximum: 'The greatest value.',
  pattern: 'A regular expression that values must match.',
  collation: 'The PostgreSQL collation by which values are compared and ordered; by code point when left out.',
  choices: 'The values there are.',
  precision: 'How many digits there are in all.',
  scale: 'How many digits follow the point.',
  model: 'The model whose records the field points to.',
  on_delete:
    'What happens to this record when the one it points to is deleted; left out, that is refused (`restrict`).',
}

const optionSchema = (name: string, schema: JsonSchema): JsonSchema => {
  const { description = OPTION_TEXTS[name] ?? `The option \`${name}\`.` } = schema
  return doc(schema, String(description))
}

const typedFieldSchema = (type: FieldType): JsonSchema => {
  const options = Object.entries(type.options).map(([name, schema]) => [name, optionSchema(name, schema)])
  const properties = { type: doc({ const: type.name }, type.summary), ...Object.fromEntries(options), ...commonKeys() }
  return {
    ...mapping(`${article(type.name)} \`${type.name}\` field`, properties, type.required),
    description: type.summary,
  }
}

const fieldSchema = (): JsonSchema => ({
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: FIELD_TYPES.map(typedFieldSchema),
})

/** The schema of a model: its table, fields and indexes. */
export const modelSchema = (): JsonSchema =>
  mapping(
    'a model',
    {
      table: doc({ type: 'string', ...NAMED }, "The table's name; the model's name when left out."),
      renamed_from: doc(
        { type: 'string', ...NAMED },
        'What the table was called before, so that the next migration renames it and keeps the rows.',
        'renamed_from: works',
      ),
      dropped: doc(
        listOf(NAMED),
        'Fields that the model had and whose values may go; needed only where a field is added at the same time.',
        'dropped: [shelf]',
      ),
      fields: doc(
        named(fieldSchema(), { minProperties: 1, maxProperties: 500 }),
        'The fields, in the order in which answers show them.',
        'fields:\n  id: { type: bigint, primary_key: true }\n  title: { type: string, max: 100 }',
      ),
      indexes: doc(
        { type: 'array', items: indexSchema() },
        'Indexes of the table: lists of fields, or mappings for unique ones.',
        'indexes:\n  - [title, id]\n  - { fields: [author, title], unique: true }',
      ),
      messages: doc(
        { type: 'object', additionalProperties: { type: 'string', minLength: 1, maxLength: 500 } },
        'What clients read when a constraint of the table refuses a change: messages by the names of constraints that migrations written by hand have made.',
        'messages:\n  books_sold_of_copies: More copies are sold than there were',
      ),
    },
    ['fields'],
  )

const indexSchema = (): JsonSchema => {
  const fields = listOf({}, { maxItems: 32 })
  const long = mapping(
    'an index',
    {
      fields: doc(fields, 'The fields, in order.'),
      unique: flag('Whether no two records may agree in all of the fields.'),
      message: doc(
        { type: 'string', minLength: 1, maxLength: 200 },
        'Replaces what clients read of each field when another record has the same values in all of them.',
        'message: This member has the book already',
      ),
    },
    ['fields'],
  )
  return { type: ['array', 'object'], if: { type: 'array' }, then: fields, else: long }
}
