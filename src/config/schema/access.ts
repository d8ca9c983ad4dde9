import type { JsonSchema } from '../../foundation/json.js'
import { doc, FIELD_NAME, FIELD_NAMED, listOf, mapping, named } from './parts.js'

const CONDITION = '^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*){0,3}$'
const CONDITION_HINT =
  'a condition is named like a filter: `field`, `field__lookup`, or `relation.field` with up to three relations'

const EMPTY_HINT = 'write a condition, or leave it out: without conditions, it would hold for every record'

function conditions(): JsonSchema {
  return {
    type: 'object',
    emptyErrorMessage: EMPTY_HINT,
    propertyNames: { pattern: CONDITION, patternErrorMessage: CONDITION_HINT },
    minProperties: 1,
    maxProperties: 20,
  }
}

/** The schema of conditions on records: a mapping whose conditions must all hold, or a list of mappings of which one must hold. */
export function rulesSchema(): JsonSchema {
  return {
    type: ['object', 'array'],
    if: { type: 'array' },
    then: { type: 'array', items: conditions(), minItems: 1, maxItems: 20, emptyErrorMessage: EMPTY_HINT },
    else: conditions(),
  }
}

function texts(): JsonSchema {
  return {
    type: ['string', 'array'],
    if: { type: 'array' },
    then: listOf({}, { maxItems: 100 }),
    else: { type: 'string' },
  }
}

/** The schema of `access` of a resource. */
export function accessSchema(): JsonSchema {
  return {
    type: 'array',
    minItems: 0,
    maxItems: 50,
    items: mapping(
      'a grant',
      {
        to: doc({ type: 'string' }, 'Who: `anyone`, `signed_in`, or a role of `auth.roles`.', 'to: member'),
        may: doc(
          texts(),
          'What: operations, actions, `read` (list and retrieve), `change` (update and partial_update), or `all`.',
          'may: [read, create]',
        ),
        rows: doc(
          rulesSchema(),
          'Conditions on the records, named like filters; for `create`, on the new record. In a list of mappings, one of them must hold.',
          'rows: { owner: $sub }',
        ),
        becomes: doc(
          rulesSchema(),
          'The conditions on a changed record; by default those of `rows`.',
          'becomes: { status__in: [open, done] }',
        ),
        fields: doc(
          {
            type: ['array', 'object'],
            if: { type: 'array' },
            then: listOf({}, { maxItems: 500 }),
            else: mapping('fields', { except: doc(listOf({}, { maxItems: 500 }), 'All fields but these.') }, [
              'except',
            ]),
          },
          'The fields that are shown, or that may be sent; all by default.',
          'fields: [title, status]\nfields: { except: [cost] }',
        ),
        set: doc(
          { type: 'object', propertyNames: FIELD_NAMED, minProperties: 1 },
          'Values that the server sets, in place of what clients send.',
          'set: { owner: $sub }',
        ),
      },
      ['to', 'may'],
    ),
  }
}

/** The schema of `auth.user`. */
export function userSchema(): JsonSchema {
  return mapping(
    'the user',
    {
      model: doc({ type: 'string' }, 'The model of users.'),
      match: doc({ type: 'string' }, 'The unique field that has the subject.'),
    },
    ['model', 'match'],
  )
}

/** The schema of `auth.sets`. */
export function setsSchema(): JsonSchema {
  return named(
    mapping(
      'a set',
      {
        of: doc(
          {
            type: 'string',
            pattern: `^[a-z][a-z0-9_]*\\.${FIELD_NAME}$`,
            patternErrorMessage: 'a set is of a model and a field, such as `membership.project`',
          },
          'The model and the field whose values are in the set.',
        ),
        rows: doc(rulesSchema(), 'The conditions that select the records.', 'rows: { user: $user }'),
      },
      ['of', 'rows'],
    ),
  )
}
