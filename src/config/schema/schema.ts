import { featureKeys } from '../../features/index.js'
import type { JsonSchema } from '../../foundation/json.js'
import { authSchema } from './auth.js'
import { modelSchema } from './models.js'
import { doc, flag, listOf, mapping, named, TABLE_NAME, oneOfNames } from './parts.js'
import { API_DEFAULTS, apiSchema, dialectSchema, mountSchema, SEGMENT } from './defaults.js'
import { OPERATIONS } from '../spec.js'

/** The defaults of resources.yaml. */
export const DEFAULTS = {
  api: API_DEFAULTS,
  unknown_query: 'refuse',
  on_delete: 'restrict',
} as const

const PATH_HINT = 'a path starts and ends with a slash; its segments are lower-case letters, digits, `.`, `_` and `-`'
const PLUGIN_HINT = 'a plugin is a file relative to this one, such as `./src/books/plugin.ts`'

function resourceSchema(): JsonSchema {
  return mapping(
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
        'The path of the resource, below the prefix.',
        'path: /books/',
      ),
      ...featureKeys(),
      operations: doc(
        listOf({ enum: OPERATIONS }, { default: OPERATIONS }),
        'The operations that are available.',
        'operations: [list, retrieve]',
      ),
      read_only: flag('Short for `operations: [list, retrieve]`.'),
      unknown_query: doc(
        oneOfNames(['refuse', 'ignore'], DEFAULTS.unknown_query),
        'Whether unknown query parameters are rejected or ignored.',
      ),
      dialect: dialectSchema('The client conventions that the resource follows; by default those under `api`.'),
      url: flag('Whether each record begins with its `url`.'),
      links: doc(
        { type: 'object', additionalProperties: { type: 'string' } },
        'Relations shown as links: each field with the name of a route.',
        'links: { author: author-detail }',
      ),
    },
    ['model', 'path'],
  )
}

/**
 * The JSON Schema of resources.yaml: `check` validates with it, and editors read it from resources.schema.json.
 * It has no `$ref`, because Ajv then copies all errors at each return, in quadratic time.
 */
export function configSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...mapping(
      'the configuration',
      {
        version: doc({ const: 1 }, 'The version of the format.', 'version: 1'),
        api: doc(apiSchema(), 'Settings of all resources.', 'api:\n  prefix: /api\n  title: Book service'),
        auth: doc(
          authSchema(),
          'How callers sign in. With it, the service denies every request without a grant in `access`.',
          'auth:\n  roles: { names: [member, admin] }',
        ),
        settings: doc(
          named({}),
          'Values for plugins; the environment can override each.',
          'settings:\n  max_page_size: 50',
        ),
        plugins: doc(
          listOf({ pattern: '^\\.{1,2}/.+\\.m?[jt]s$', patternErrorMessage: PLUGIN_HINT }, { minItems: 0 }),
          'TypeScript or JavaScript files of plugins, relative to this file.',
          'plugins:\n  - ./src/books/plugin.ts',
        ),
        database: doc(
          mapping('the database', {
            managed: doc(
              { type: 'boolean', default: true },
              'Whether migrations of this project create the tables of models that do not say otherwise.',
              'managed: false',
            ),
          }),
          'The database of the models.',
          'database: { managed: false }',
        ),
        models: doc(named(modelSchema()), 'Tables with their fields, rules and indexes.'),
        dropped: doc(
          listOf(TABLE_NAME),
          'Former tables that the next migration may drop with all their rows.',
          'dropped: [loans]',
        ),
        resources: doc(
          named(resourceSchema()),
          'The endpoints of models: paths, filters, ordering, pages. A resource `book` has the routes `book-list` and `book-detail`.',
        ),
        mounts: doc(
          { type: 'array', items: mountSchema() },
          'Further paths to all resources. At `/admin-api`, the resource `book` has the routes `admin-api:book-list` and `admin-api:book-detail`.',
          'mounts:\n  - { path: /admin-api, dialect: simple-rest }',
        ),
      },
      ['version'],
    ),
  }
}
