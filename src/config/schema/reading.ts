import type { JsonSchema } from '../../json.js'
import { FIELD_TYPES } from '../../fields/index.js'
import { doc, flag, listOf, mapping, named } from './parts.js'

const MOST_COMPUTED = 50
/** Types of which a value is one word of JSON, and that mean something without options. */
const COMPUTED_TYPES = FIELD_TYPES.filter(({ orderable, required = [] }) => orderable && required.length === 0)

/** The schemas of what a resource says of how its records are looked for and shown. */
export const readingSchemas = (): Readonly<Record<string, JsonSchema>> => ({
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
