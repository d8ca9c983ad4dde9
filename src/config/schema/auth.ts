import type { JsonSchema } from '../../foundation/json.js'
import { setsSchema, userSchema } from './access.js'
import { PUBLIC_URL, PUBLIC_URL_HINT } from './public-url.js'
import { doc, listOf, mapping, NAMED, named } from './parts.js'

/** Signatures that the service verifies with a public key (RFC 7518, RFC 8037). */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** The name of a header (RFC 9110, section 5.1), except headers with another meaning. */
const HEADER: JsonSchema = {
  type: 'string',
  pattern: '^(?![Aa]uthorization$|[Cc]ookie$|[Hh]ost$)[A-Za-z0-9-]{1,100}$',
  patternErrorMessage: 'the name of a header of its own, such as `X-Auth-User`',
}

/** The types of claims. */
const CLAIM_TYPES = ['string', 'uuid', 'integer', 'bigint', 'boolean']

/** The schema of `auth`. */
export function authSchema(): JsonSchema {
  return mapping('`auth`', {
    url: doc(
      { type: 'string', pattern: PUBLIC_URL, patternErrorMessage: PUBLIC_URL_HINT, maxLength: 200 },
      'The URL of the service as its issuer knows it. Clients find there how to sign in (RFC 9728).',
      'url: https://api.example',
    ),
    jwt: doc(
      jwtSchema(),
      'Bearer tokens (JWT), and the issuer that signs them.',
      'jwt: { issuer: https://id.example, audience: https://api.example, algorithms: [RS256] }',
    ),
    keys: doc(
      { type: 'boolean' },
      'Whether callers sign in by API keys, which `snippetctl keys` creates, lists and revokes.',
      'keys: true',
    ),
    proxy: doc(
      proxySchema(),
      'A proxy that authenticates callers, and says in headers who they are.',
      'proxy: { from: [10.0.0.0/8], subject: X-Auth-User, roles: X-Auth-Roles }',
    ),
    roles: doc(
      mapping(
        '`roles`',
        {
          from: doc(
            listOf({}, { maxItems: 10, uniqueItems: false }),
            'The path of the claim with the roles, which is a list or a space-separated string.',
            'from: [realm_access, roles]',
          ),
          names: doc(listOf(NAMED, { maxItems: 100 }), 'The names of all roles.', 'names: [member, admin]'),
        },
        ['names'],
      ),
      'The roles that callers can have.',
      'roles: { names: [member, admin] }',
    ),
    claims: doc(
      named(
        mapping(
          'a claim',
          {
            type: doc({ enum: CLAIM_TYPES }, 'The type of its values.'),
            from: doc(
              listOf({}, { maxItems: 10, uniqueItems: false }),
              'The path of the claim in the token; by default the claim of the same name.',
              'from: [org, id]',
            ),
          },
          ['type'],
        ),
      ),
      'Facts about callers besides their roles, as `$name` in rules.',
      'claims: { tenant: { type: uuid, from: [org, id] } }',
    ),
    development: doc(
      {
        type: 'object',
        propertyNames: {
          pattern: '^[A-Za-z0-9._~-]{1,100}$',
          patternErrorMessage: 'a name here has letters, digits, `.`, `_`, `~` and `-`',
        },
        additionalProperties: mapping('a caller', {
          roles: doc(listOf({}, { minItems: 0 }), 'The roles of the caller.'),
          claims: doc({ type: 'object' }, 'The claims of the caller.'),
        }),
      },
      'Callers that sign in by `Authorization: Dev name` from the same machine, unless `NODE_ENV` is `production`.',
      'development: { ann: { roles: [member] } }',
    ),
    routes: doc(
      {
        type: 'object',
        additionalProperties: {
          type: ['string', 'array'],
          if: { type: 'array' },
          then: listOf({}, { maxItems: 100 }),
          else: { type: 'string' },
        },
      },
      'The callers who may request routes of plugins (by name), mounted routers (by path), `openapi` and `explore`: `anyone`, `signed_in`, or roles. Other routes are denied.',
      'routes: { openapi: anyone, explore: anyone, loan-days: [dashboard] }',
    ),
    user: doc(
      userSchema(),
      'The record that stands for the caller: `$user` in rules is its key.',
      'user: { model: user, match: subject }',
    ),
    sets: doc(
      setsSchema(),
      'Sets of values that are looked up for the caller; rules use them as `field__in: $name`.',
      'sets:\n  my_projects: { of: membership.project, rows: { user: $user } }',
    ),
  })
}

/** The schema of `auth.jwt`. */
function jwtSchema(): JsonSchema {
  return mapping(
    'the issuer of tokens',
    {
      issuer: doc(
        { type: 'string', minLength: 1, maxLength: 500 },
        'The issuer, as tokens have it in `iss`.',
        'issuer: https://id.example',
      ),
      audience: doc(
        { type: 'string', minLength: 1, maxLength: 500 },
        'This service, as tokens have it in `aud`.',
        'audience: https://api.example',
      ),
      algorithms: doc(listOf({ enum: ALGORITHMS }), 'The algorithms of signatures.', 'algorithms: [RS256]'),
      jwks: doc(
        {
          type: 'string',
          pattern: String.raw`^(https://|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?(/|$))`,
          patternErrorMessage: 'keys are fetched by `https://`, or by `http://` from the same machine',
          maxLength: 500,
        },
        'The address of the public keys (RFC 7517), if the discovery document of the issuer does not have it.',
        'jwks: https://id.example/keys',
      ),
      keys: doc(
        { type: 'string', minLength: 1, maxLength: 500 },
        'A file with the public keys, relative to this one, in place of an address.',
        'keys: ./keys.json',
      ),
      typ: doc({ type: 'string', minLength: 1, maxLength: 50 }, 'The `typ` that tokens must have.', 'typ: at+jwt'),
      header: doc(
        HEADER,
        'The header with the token, if a proxy does not send it as `Authorization: Bearer`.',
        'header: Cf-Access-Jwt-Assertion',
      ),
    },
    ['issuer', 'audience', 'algorithms'],
  )
}

/** The schema of `auth.proxy`. */
function proxySchema(): JsonSchema {
  return mapping(
    'a proxy that signs callers in',
    {
      from: doc(
        listOf({}, { maxItems: 100 }),
        'The addresses from which the proxy connects. A request with its headers from another address is 401.',
        'from: [10.0.0.0/8]',
      ),
      subject: doc(HEADER, 'The header with the subject of the caller.', 'subject: X-Auth-User'),
      roles: doc(HEADER, 'The header with its roles, separated by commas or spaces.', 'roles: X-Auth-Roles'),
    },
    ['from', 'subject'],
  )
}
