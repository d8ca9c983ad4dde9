import { FIELD_TYPES } from '../../fields/index.js'
import type { FieldType, KeySource } from '../../fields/field-type.js'
import type { JsonSchema } from '../../foundation/json.js'
import { INDEX_METHODS, MAX_CONDITIONS } from '../model-spec.js'
import { DATABASE_NAME, doc, TABLE_NAME, flag, listOf, mapping, fieldsNamed } from './parts.js'
import { article } from '../words.js'

/** The functions that `default:` can call, and the names of the types whose values they make. */
export const DEFAULT_FUNCTIONS = { now: typesThatCall('now'), uuid: typesThatCall('uuid') } as const

const KEY_SOURCES: readonly KeySource[] = [
  ...new Set([...FIELD_TYPES.flatMap(({ assigned }) => assigned?.key ?? []), 'client' as const]),
]

function typesThatCall(name: 'now' | 'uuid'): readonly string[] {
  return FIELD_TYPES.filter(({ functions }) => functions?.[name] !== undefined).map((type) => type.name)
}

function functionKey(): JsonSchema {
  return doc(
    { enum: [...Object.keys(DEFAULT_FUNCTIONS), 'database'] },
    'The function: `now` is the time of the transaction, `uuid` a random UUID; `database` is the default of the column, with `managed: false`.',
    'default: { function: now }',
  )
}

function commonKeys({ objects }: FieldType): Readonly<Record<string, JsonSchema>> {
  return {
    primary_key: flag(
      'Whether the field is the primary key, which identifies a record. A key of several fields is listed in `primary_key` of the model.',
    ),
    key: doc(
      { enum: KEY_SOURCES },
      'Who gives the values of a primary key: a sequence of the database (`identity`), a random UUID (`uuid`), or the client that creates the record ' +
        '(`client`). By default `identity` for integers, `uuid` for UUIDs, and `client` for other types and for parts of a key.',
      'key: client',
    ),
    nullable: flag('Whether the field may be null.'),
    unique: flag('Whether each value may occur in one record only.'),
    default: doc(
      {
        if: { type: 'object', ...(objects ? { required: ['function'] } : {}) },
        then: mapping('a default', { function: functionKey() }, ['function']),
      },
      'The value if a request has none: a literal, or a function of the database.',
      'default: draft\ndefault: { function: now }',
    ),
    auto: doc(
      { enum: ['on_create', 'on_update'] },
      'The server sets the field to the current time when the record is created, or also at each change.',
    ),
    read_only: flag('In responses; ignored in requests.'),
    write_only: flag('In requests; never in responses.'),
    generated: flag(
      'In responses; the database fills it, by a trigger or as a generated column. Only with `managed: false`.',
    ),
    private: flag('Neither in requests nor in responses.'),
    column: doc(
      { type: 'string', ...DATABASE_NAME },
      'The name of the column; by default the name of the field, and for a relation that name with `_id`.',
      'column: displayName',
    ),
    renamed_from: doc(
      { type: 'string', ...DATABASE_NAME },
      'The former name of the field, or of its column; the next migration renames the column and keeps its values.',
      'renamed_from: heading',
    ),
    label: doc(
      { type: 'string', minLength: 1, maxLength: 100 },
      'The name of the field in messages; by default its name, capitalised.',
    ),
    message: doc(
      { type: 'string', minLength: 1, maxLength: 500 },
      'The message for every violated rule of a value. If the value is `unique` and taken, the message is in `messages` of the model.',
    ),
  }
}

/** The descriptions of options that several types share; a type may give its own in the option's schema. */
const OPTION_TEXTS: Readonly<Record<string, string>> = {
  min: 'The minimum number of characters.',
  max: 'The maximum number of characters.',
  minimum: 'The minimum value.',
  maximum: 'The maximum value.',
  pattern: 'A regular expression that values must match.',
  collation: 'The PostgreSQL collation for comparing and ordering values; by default, the order of code points.',
  choices: 'The allowed values.',
  precision: 'The number of all digits.',
  scale: 'The number of digits after the point.',
  model: 'The model of the related record.',
  references: 'The unique field of the other model whose values this field has; by default its primary key.',
  on_delete: 'What happens to this record if the other is deleted; `restrict`, the default, rejects the deletion.',
}

function optionSchema(name: string, schema: JsonSchema): JsonSchema {
  const { description = OPTION_TEXTS[name] ?? `The option \`${name}\`.` } = schema
  return doc(schema, String(description))
}

/** The options of a type, and its name. */
function optionsSchema(type: FieldType): Readonly<Record<string, JsonSchema>> {
  const options = Object.entries(type.options).map(([name, schema]) => [
    name,
    optionSchema(name, name === 'items' && type.itemTypes ? { ...schema, ...itemsSchema(type.itemTypes) } : schema),
  ])
  return { type: doc({ const: type.name }, type.summary), ...Object.fromEntries(options) }
}

function itemsSchema(types: readonly FieldType[]): JsonSchema {
  return {
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: types.map((type) => ({
      ...mapping(
        `items of the type \`${type.name}\``,
        { ...optionsSchema(type), nullable: flag('Whether an item may be null.') },
        type.required,
      ),
      description: type.summary,
    })),
  }
}

function typedFieldSchema(type: FieldType): JsonSchema {
  const properties = { ...optionsSchema(type), ...commonKeys(type) }
  return {
    ...mapping(`${article(type.name)} \`${type.name}\` field`, properties, type.required),
    description: type.summary,
  }
}

function fieldSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: FIELD_TYPES.map(typedFieldSchema),
  }
}

/** The schema of a model: its table, fields and indexes. */
export function modelSchema(): JsonSchema {
  return mapping(
    'a model',
    {
      table: doc(
        { type: 'string', ...TABLE_NAME },
        'The name of the table or view, by default that of the model; with its schema if that is not the current one, and migrations do not create the table: `sales.Customers`. ' +
          'A part that contains a dot is written between double quotes.',
        'table: books',
      ),
      view: doc(
        { type: 'string', minLength: 1, maxLength: 50_000 },
        'The query of a view that migrations create, replace and drop; its columns are the fields.',
        'view: select author_id, count(*) as books from books group by author_id',
      ),
      managed: doc(
        { type: 'boolean' },
        'Whether migrations create the table; by default as `database.managed` says. Tables and views of other programs have `managed: false`.',
        'managed: false',
      ),
      renamed_from: doc(
        { type: 'string', ...TABLE_NAME },
        'The former name of the table; the next migration renames it and keeps its rows.',
        'renamed_from: works',
      ),
      dropped: doc(
        listOf(DATABASE_NAME),
        'Former fields whose values may be deleted; needed only if another field is added at the same time.',
        'dropped: [shelf]',
      ),
      primary_key: doc(
        {
          type: ['array', 'string'],
          if: { type: 'array' },
          then: listOf({}, { maxItems: 32 }),
          else: { const: 'none' },
        },
        'The fields of the primary key, if it has several; `none` if records have no key and can only be listed.',
        'primary_key: [order, product]',
      ),
      fields: doc(
        fieldsNamed(fieldSchema(), { minProperties: 1, maxProperties: 1600 }),
        'The fields, in the order of responses.',
        'fields:\n  id: { type: bigint, primary_key: true }\n  title: { type: string, max: 100 }',
      ),
      relations: doc(
        fieldsNamed(relationSchema(), { maxProperties: 100 }),
        'Relations over several fields: each refers to the primary key, or another unique combination of fields, of another model.',
        'relations:\n  line: { model: order_line, fields: [order, position] }',
      ),
      indexes: doc(
        { type: 'array', items: indexSchema() },
        'Indexes of the table: lists of fields, or mappings for unique, partial and other ones.',
        'indexes:\n  - [title, id]\n  - { fields: [author, title], unique: true }',
      ),
      messages: doc(
        { type: 'object', additionalProperties: { type: 'string', minLength: 1, maxLength: 500 } },
        'Messages for violations of hand-written constraints, unique fields and relations, by the name of the constraint, such as `books_isbn_key`.',
        'messages:\n  books_sold_of_copies: More copies are sold than there were',
      ),
    },
    ['fields'],
  )
}

function relationSchema(): JsonSchema {
  return mapping(
    'a relation over several fields',
    {
      model: doc({ type: 'string', minLength: 1 }, 'The model of the related record.'),
      fields: doc(
        listOf({}, { minItems: 2, maxItems: 32 }),
        "The fields that hold the values of the other record's primary key, or of its fields under `references`, in the same order.",
        'fields: [order, position]',
      ),
      references: doc(
        listOf({}, { minItems: 2, maxItems: 32 }),
        'The referenced fields of the other model; by default its primary key. They need an index with `unique: true`.',
        'references: [country, code]',
      ),
      on_delete: doc(
        { enum: ['restrict', 'cascade', 'set_null'], default: 'restrict' },
        'What happens to this record if the other is deleted; `restrict`, the default, rejects the deletion.',
      ),
      label: doc(
        { type: 'string', minLength: 1, maxLength: 100 },
        'The label of the relation; by default its name, capitalised.',
      ),
    },
    ['model', 'fields'],
  )
}

function indexSchema(): JsonSchema {
  const fields = listOf({}, { maxItems: 32 })
  const long = mapping(
    'an index',
    {
      fields: doc(fields, 'The fields, in order.'),
      unique: flag('Whether each combination may occur in one record only.'),
      ignore_case: flag('Whether texts that differ only in the case of letters are equal in it.'),
      where: doc(
        {
          type: 'object',
          minProperties: 1,
          maxProperties: MAX_CONDITIONS,
          additionalProperties: { type: ['string', 'number', 'boolean', 'null', 'array'] },
        },
        'The conditions on the records in the index, written like filters; by default all records.',
        'where: { deleted_at: null, status__in: [open, new] }',
      ),
      using: doc(
        { enum: [...INDEX_METHODS] },
        'The kind of the index, by default `btree`: `gin` for lists and JSON, `gist` for ranges and points, `hash` for equality, `brin` for large tables in the order of creation.',
        'using: gin',
      ),
      message: doc(
        { type: 'string', minLength: 1, maxLength: 200 },
        'The message for each field if another record has the same combination.',
        'message: This member has the book already',
      ),
    },
    ['fields'],
  )
  return { type: ['array', 'object'], if: { type: 'array' }, then: fields, else: long }
}
