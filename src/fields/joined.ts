import type { JsonSchema } from '../foundation/json.js'
import { fail } from '../foundation/fail.js'
import type { FieldType, Typed } from './field-type.js'
import { describedSchema, valueSchema } from './value-schema.js'

/** The values of a relation over several fields, by the names of the fields that it refers to. */
export interface JoinedOptions {
  readonly parts: readonly (Typed & { readonly name: string })[]
}

/** The member of records that has the values of a relation over several fields, as an object. Responses show it, but no field in YAML has this type. */
export const joined: FieldType<never, JoinedOptions> = {
  name: 'belongs_to',
  summary: 'The key of a record of another model, which several fields hold.',
  options: {},
  readOnly: true,
  typescript: 'object',
  comparisons: [],
  orderable: false,
  key: false,
  examples: [],
  column: stored,
  rules: ({ parts }) => [
    {
      name: 'type',
      schema: objectOf(parts, valueSchema),
      described: objectOf(parts, describedSchema),
      message: 'must be the key of an existing record',
    },
  ],
  maxBytes: () => 0,
  longest: () => 0,
  read: stored,
  parse: stored,
  fromJson: stored,
  write: stored,
}

function objectOf(parts: JoinedOptions['parts'], describe: (typed: Typed) => JsonSchema): JsonSchema {
  const properties = Object.fromEntries(parts.map((part) => [part.name, describe(part)]))
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function stored(): never {
  return fail('a relation over several fields has no value of its own')
}
