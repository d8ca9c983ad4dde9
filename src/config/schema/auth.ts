import type { JsonSchema } from '../../json.js'
import { setsSchema, userSchema } from './access.js'
import { doc, listOf, mapping, NAMED, named } from './parts.js'

/** The types of claims. */
const CLAIM_TYPES = ['string', 'uuid', 'integer', 'bigint', 'boolean']

/** The schema of `auth`. */
export const authSchema = (): JsonSchema =>
  mapping('`auth`', {
    roles: doc(
      mapping(
        '`roles`',
        { names: doc(listOf(NAMED, { maxItems: 100 }), 'The names of all roles.', 'names: [member, admin]') },
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
              'The members of the token that lead to it; by default the one of its name.',
              'from: [org, id]',
            ),
          },
          ['type'],
        ),
      ),
      'What is known of callers beside their roles, as `$name` in rules.',
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
      'Who may request routes of plugins, by name, mounted routers, by path, `openapi` and `explore`: `anyone`, `signed_in`, or roles. Nobody may request others.',
      'routes: { openapi: anyone, explore: anyone, loan-days: [dashboard] }',
    ),
    user: doc(
      userSchema(),
      'The record that stands for the caller: `$user` in rules is its key.',
      'user: { model: user, match: subject }',
    ),
    sets: doc(
      setsSchema(),
      'Values that belong to the caller, as `$name` for the lookup `in` of rules.',
      'sets:\n  my_projects: { of: membership.project, rows: { user: $user } }',
    ),
  })
