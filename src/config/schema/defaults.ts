import { DIALECTS, PLAIN } from '../../dialects/index.js'
import type { JsonSchema } from '../../foundation/json.js'
import { corsSchema } from './cors.js'
import { publicSchemas } from './public-url.js'
import { doc, mapping, listOf } from './parts.js'
import { HOST_PATTERN } from '../host.js'

/** The defaults of `api`. */
export const API_DEFAULTS = {
  prefix: '/api',
  title: 'API',
  dialect: PLAIN,
  explore: 'development',
  compression: false,
  max_body: 32 * 1024 * 1024,
} as const

/** A segment of a path. */
export const SEGMENT = '[a-z0-9][a-z0-9._-]*'
const PREFIX_HINT = 'a prefix is empty, or like `/api`: with a leading slash and no trailing slash'
const MOUNT_HINT = 'the path of a mount is like `/admin-api`: with a leading slash and no trailing slash'

/** The schema of a key that chooses a dialect. */
export function dialectSchema(description: string, extra: JsonSchema = {}): JsonSchema {
  const all = DIALECTS.map(({ name, summary }) => `- \`${name}\`: ${summary}`)
  const plain = `- \`${PLAIN}\`: Lists are what \`pagination\` says.`
  return doc(
    { enum: [PLAIN, ...DIALECTS.map(({ name }) => name)], ...extra },
    `${description}\n${[plain, ...all].join('\n')}`,
  )
}

/** The schema of `api`. */
export function apiSchema(): JsonSchema {
  return mapping('`api`', {
    prefix: doc(
      {
        type: 'string',
        pattern: `^(/${SEGMENT})*$`,
        patternErrorMessage: PREFIX_HINT,
        maxLength: 200,
        default: API_DEFAULTS.prefix,
      },
      'The prefix of every path.',
    ),
    title: doc(
      { type: 'string', minLength: 1, maxLength: 200, default: API_DEFAULTS.title },
      'The name of the service.',
    ),
    dialect: dialectSchema('The client conventions that resources follow; a resource may have its own.', {
      default: API_DEFAULTS.dialect,
    }),
    explore: doc(
      { enum: [true, false, 'development'], default: API_DEFAULTS.explore },
      'Whether `/`, `/explore/` and `/docs` show the API in a browser; `development` means unless `NODE_ENV` is `production`.',
      'explore: true',
    ),
    compression: doc(
      { type: 'boolean', default: API_DEFAULTS.compression },
      'Whether responses of the API are compressed with Brotli or gzip. Leave it off behind a proxy that compresses them.',
      'compression: true',
    ),
    hosts: hostsSchema(),
    max_body: doc(
      { type: 'integer', minimum: 1024 * 1024, maximum: 1024 ** 3, default: API_DEFAULTS.max_body },
      'The maximum size of any body in bytes, also with `bulk`.',
      'max_body: 67108864',
    ),
    ...publicSchemas(),
    cors: doc(
      corsSchema(),
      'Other origins whose scripts may read responses; none by default.',
      'cors: { origins: [https://app.example] }',
    ),
  })
}

/** The schema of one of `mounts`. */
export function mountSchema(): JsonSchema {
  return mapping(
    'a mount',
    {
      path: doc(
        {
          type: 'string',
          pattern: `^(/${SEGMENT})+$`,
          patternErrorMessage: MOUNT_HINT,
          maxLength: 200,
          examples: ['/admin-api'],
        },
        'The prefix of every path there.',
      ),
      dialect: dialectSchema('The client conventions of all resources there; by default those of each resource.'),
    },
    ['path'],
  )
}

const HINT =
  'a host is a name or address in lower case without a scheme or port, such as `api.example.org`, `[::1]` or `*.example.org`'

/** The schema of `api.hosts`. */
export function hostsSchema(): JsonSchema {
  return doc(
    listOf(
      {
        pattern: `^(?=[^A-Z]*$)${HOST_PATTERN}$`,
        patternErrorMessage: HINT,
        maxLength: 253,
      },
      { maxItems: 100 },
    ),
    'Hosts of the service, with any port; others are 421. By default any host, but on loopback in development only local names.',
    'hosts: [api.example.org]',
  )
}
