import { featureKeys } from '../../features/index.js'
import type { JsonSchema } from '../../json.js'
import { modelSchema } from './models.js'
import { doc, flag, listOf, mapping, named, NAMED, oneOfNames } from './parts.js'
import { API_DEFAULTS, apiSchema, dialectSchema, mountSchema, SEGMENT } from './defaults.js'
import { OPERATIONS } from '../spec.js'

/** The values that stand where resources.yaml says nothing. */
export const DEFAULTS = {
  api: API_DEFAULTS,
  unknown_query: 'refuse',
  on_delete: 'restrict',
} as const

const PATH_HINT = 'a path starts and ends with a slash; its segments are lower-case letters, digits, `.`, `_` and `-`'
const PLUGIN_HINT = 'a plugin is a file relative to this one, such as `./src/books/plugin.ts`'

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
      ...featureKeys(),
      operations: doc(
        listOf({ enum: OPERATIONS }, { default: OPERATIONS }),
        'What can be done; everything when left out.',
        'operations: [list, retrieve]',
      ),
      read_only: flag('Short for `operations: [list, retrieve]`.'),
      unknown_query: doc(
        oneOfNames(['refuse', 'ignore'], DEFAULTS.unknown_query),
        'What happens to a query parameter that is not declared.',
      ),
      dialect: dialectSchema('How clients speak to the resource; as under `api` when left out.'),
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
