import { featureKeys } from '../../features/index.js'
import { LOOKUPS } from '../../lookups/index.js'
import type { JsonSchema } from '../../json.js'
import { PAGINATION_STYLES } from '../../pagination/index.js'
import { modelSchema } from './models.js'
import { readingSchemas } from './reading.js'
import { doc, flag, listOf, mapping, named, NAMED, oneOfNames } from './parts.js'
import { API_DEFAULTS, apiSchema, dialectSchema, mountSchema, SEGMENT } from './defaults.js'
import { writeKeys, WRITE_DEFAULTS } from './writes.js'
import { OPERATIONS } from '../spec.js'

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

const filterableSchema = (): JsonSchema => {
  const lookups = listOf({ enum: LOOKUPS.map(({ name }) => name) })
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
      nulls: doc(
        { type: 'object', additionalProperties: { enum: ['first', 'last'] } },
        'Where records without a value come in lists that are ordered by a nullable field, in either direction; left out, they come last, and first where the field is descending.',
        'nulls: { published_on: last }',
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
      ...featureKeys(),
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
