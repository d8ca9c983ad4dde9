import { FIELD_TYPES } from '../fields/index.js'
import { type FieldType, LOOKUPS } from '../fields/field-type.js'
import type { JsonSchema } from '../json.js'
import { PAGINATION_STYLES } from '../pagination/index.js'
import { readingSchemas } from './schema-reading.js'
import { doc, flag, listOf, mapping, named, NAMED, oneOfNames } from './schema-parts.js'
import { API_DEFAULTS, apiSchema, dialectSchema, mountSchema, SEGMENT } from './schema-places.js'
import { writeKeys, WRITE_DEFAULTS } from './schema-writes.js'
import { OPERATIONS } from './spec.js'
import { article } from './words.js'

/** The functions that `default:` can call, and the names of the types whose values they make. */
export const DEFAULT_FUNCTIONS = { now: ['timestamp'], uuid: ['uuid'] } as const

/** The values that stand where resources.yaml says nothing. */
export const DEFAULTS = {
  api: API_DEFAULTS,
  pagination: {
    style: 'page_number',
    page_size: 10,
    max_page_size: 100,
    max_offset: 1_000_000,
    count: 'capped',
    envelope: 'none',
  },
  unknown_query: 'refuse',
  concurrency: 'optional',
  ...WRITE_DEFAULTS,
  on_delete: 'restrict',
} as const

const MAX_PAGE_SIZE = 10_000
const MAX_OFFSET = 1_000_000_000
const PATH_HINT = 'a path starts and ends with a slash; its segments are lower-case letters, digits, `.`, `_` and `-`'
const PLUGIN_HINT = 'a plugin is a file relative to this one, such as `./src/books/plugin.ts`'

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

const modelSchema = (): JsonSchema =>
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

const filterableSchema = (): JsonSchema => {
  const lookups = listOf({ enum: LOOKUPS })
  const long = { type: 'object', additionalProperties: lookups }
  return { type: ['array', 'object'], if: { type: 'array' }, then: listOf({}, { minItems: 0 }), else: long }
}

const paginationSchema = (): JsonSchema => {
  const { style, page_size, max_page_size, max_offset, count, envelope } = DEFAULTS.pagination
  const size = { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE }
  const styles = PAGINATION_STYLES.map(({ name, summary }) => `- \`${name}\`: ${summary}`).join('\n')
  return mapping('the pagination', {
    style: doc(
      oneOfNames(
        PAGINATION_STYLES.map(({ name }) => name),
        style,
      ),
      `How lists are cut into pages.\n${styles}`,
    ),
    page_size: doc({ ...size, default: page_size }, 'How many records a page has when the request does not say.'),
    max_page_size: doc({ ...size, default: max_page_size }, 'The most records that a request can ask for.'),
    max_offset: doc(
      { type: 'integer', minimum: 0, maximum: MAX_OFFSET, default: max_offset },
      'How many records are passed over, at most, to find a page by its number. Pages beyond are reached by the `cursor` in links.',
    ),
    count: doc(
      oneOfNames(['exact', 'capped', 'none'], count),
      'Whether all records are counted: exactly, up to a cap, or not.',
    ),
    envelope: doc(
      oneOfNames(['none', 'results'], envelope),
      'Whether a list is a bare array or an object with `results`.',
    ),
  })
}

const resourceSchema = (): JsonSchema =>
  mapping(
    'a resource',
    {
      model: doc({ type: 'string' }, 'The model whose records are exposed.'),
      path: doc(
        {
          type: 'string',
          pattern: `^/(${SEGMENT}/)+$`,
          patternErrorMessage: PATH_HINT,
          maxLength: 200,
          examples: ['/books/'],
        },
        'Where the resource is, below the prefix.',
        'path: /books/',
      ),
      filterable: doc(
        filterableSchema(),
        'The fields that lists can be filtered by: names for exact matches, or each with its lookups.',
        'filterable: [title]\nfilterable: { title: [exact, contains] }',
      ),
      orderable: doc(
        listOf({}, { minItems: 0 }),
        'The fields that lists can be ordered by.',
        'orderable: [created_at, title]',
      ),
      default_order: doc(
        listOf({}),
        'The order of lists when a request asks for none; the primary key is always appended.',
        'default_order: [-created_at]',
      ),
      operations: doc(
        listOf({ enum: OPERATIONS }, { default: OPERATIONS }),
        'What can be done; everything when left out.',
        'operations: [list, retrieve]',
      ),
      read_only: flag('Short for `operations: [list, retrieve]`.'),
      pagination: doc(
        paginationSchema(),
        'How lists are cut into pages.',
        'pagination: { style: page_number, page_size: 20 }',
      ),
      unknown_query: doc(
        oneOfNames(['refuse', 'ignore'], DEFAULTS.unknown_query),
        'What happens to a query parameter that is not declared.',
      ),
      dialect: dialectSchema('How clients speak to the resource; as under `api` when left out.'),
      concurrency: doc(
        oneOfNames(['optional', 'required'], DEFAULTS.concurrency),
        'Whether changes and deletions must say, by `If-Match`, which version of the record they are meant for.',
        'concurrency: required',
      ),
      ...readingSchemas(),
      ...writeKeys(),
      url: flag('Whether each object starts with its own `url`.'),
      links: doc(
        { type: 'object', additionalProperties: { type: 'string' } },
        'Relations shown as links: the field and the name of the route.',
        'links: { author: author-detail }',
      ),
    },
    ['model', 'path'],
  )

/**
 * The JSON Schema of resources.yaml: what `check` validates by, and what editors read from resources.schema.json.
 * Without `$ref`: for one, Ajv copies all errors at each return, which takes the square of their number.
 */
export const configSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...mapping(
    'the configuration',
    {
      version: doc({ const: 1 }, 'The version of the format.', 'version: 1'),
      api: doc(apiSchema(), 'What all resources share.', 'api:\n  prefix: /api\n  title: Book service'),
      settings: doc(
        named({}),
        'Values that plugins read; the environment can override each.',
        'settings:\n  max_page_size: 50',
      ),
      plugins: doc(
        listOf({ pattern: '^\\.{1,2}/.+\\.m?[jt]s$', patternErrorMessage: PLUGIN_HINT }, { minItems: 0 }),
        'Files with hand-written handlers, relative to this one; TypeScript or JavaScript.',
        'plugins:\n  - ./src/books/plugin.ts',
      ),
      models: doc(named(modelSchema()), 'What is stored: tables, fields, rules, indexes.'),
      dropped: doc(
        listOf(NAMED),
        'Tables that no model has any more and that may go with all their rows; any other table is left alone.',
        'dropped: [loans]',
      ),
      resources: doc(
        named(resourceSchema()),
        'What is exposed: where, and how it is filtered, ordered and paged. A resource `book` has the routes `book-list` and `book-detail`.',
      ),
      mounts: doc(
        { type: 'array', items: mountSchema() },
        'Where all resources are exposed once more. At `/admin-api` the resource `book` has the routes `admin-api:book-list` and `admin-api:book-detail`.',
        'mounts:\n  - { path: /admin-api, dialect: simple-rest }',
      ),
    },
    ['version'],
  ),
})
