import type { JsonSchema } from '../../json.js'
import { FIELD_TYPES } from '../../fields/index.js'
import { doc, flag, listOf, mapping, named } from './parts.js'

const MOST_COMPUTED = 50
/** Types of which a value is one word of JSON, and that mean something without options. */
const COMPUTED_TYPES = FIELD_TYPES.filter(({ orderable, required = [] }) => orderable && required.length === 0)
const MOST_EXPANSIONS = 20
const RELATIONS = '^[a-z][a-z0-9_]{0,62}(\\.[a-z][a-z0-9_]{0,62}){0,2}$'
const RELATIONS_HINT = 'an expansion is a relation, or up to three between dots, such as `author.publisher`'

/** The schemas of what a resource says of how its records are looked for and shown. */
export const readingSchemas = (): Readonly<Record<string, JsonSchema>> => ({
  sparse_fields: flag('Whether `fields` asks for some of the members of records, in lists and of one record.'),
  expand: doc(
    expandSchema(),
    'The related records that `expand` puts beside their keys: relations, of which dots lead further, or each with what is shown of it.',
    'expand: [author]\nexpand: { author: { resource: author, fields: [id, name] } }',
  ),
  computed: doc(
    named(computedSchema(), { maxProperties: MOST_COMPUTED }),
    'Fields of answers that a plugin makes of stored ones, by `app.compute`.',
    'computed:\n  full_title: { from: [title, isbn], type: string }',
  ),
})

const computedSchema = (): JsonSchema =>
  mapping(
    'a computed field',
    {
      from: doc(listOf({}), 'The stored fields that it is made of; answers need not show them.', 'from: [title, isbn]'),
      type: doc({ enum: COMPUTED_TYPES.map(({ name }) => name) }, 'The type of the field.'),
      nullable: flag('Whether it may be null.'),
      label: doc(
        { type: 'string', minLength: 1, maxLength: 100 },
        'How it is called; its name, capitalised, when left out.',
      ),
    },
    ['from', 'type'],
  )

const expandSchema = (): JsonSchema => {
  const path = { pattern: RELATIONS, patternErrorMessage: RELATIONS_HINT }
  const long = mapping('an expansion', {
    resource: doc(
      { type: 'string' },
      'The resource as which the related record is shown; the only one of its model when left out.',
      'resource: author',
    ),
    fields: doc(listOf({}), 'What is shown of the related record; what its resource shows when left out.'),
  })
  const mapped = { type: 'object', propertyNames: path, additionalProperties: long, maxProperties: MOST_EXPANSIONS }
  return {
    type: ['array', 'object'],
    if: { type: 'array' },
    then: listOf(path, { maxItems: MOST_EXPANSIONS }),
    else: mapped,
  }
}
