import { TABLE_PATTERN } from '../../fields/table-name.js'
import type { Json, JsonSchema } from '../../json.js'

const NAME = '^[a-z][a-z0-9_]{0,62}$'
const NAME_HINT = 'a name is a lower-case letter and then at most 62 lower-case letters, digits and underscores'

/** The schema of what models, fields, resources and settings are called. */
export const NAMED: JsonSchema = { pattern: NAME, patternErrorMessage: NAME_HINT }

const DATABASE_NAME_HINT = 'a name in PostgreSQL has 1 to 63 bytes, and any character but U+0000'

/** The schema of what columns are called. Their length in bytes is checked apart. */
export const DATABASE_NAME: JsonSchema = {
  pattern: '^[^\\u0000]{1,63}$',
  patternErrorMessage: DATABASE_NAME_HINT,
}

/** The schema of what tables are called, with a schema or without. */
export const TABLE_NAME: JsonSchema = {
  pattern: TABLE_PATTERN,
  patternErrorMessage: 'a table is written as `books`, `Order Details`, `sales.Customers` or `sales."a.b"`',
}

/** A schema with its text for editors; an example is shown with the text. */
export const doc = (schema: JsonSchema, description: string, example?: string): JsonSchema => ({
  ...schema,
  description,
  markdownDescription: example === undefined ? description : `${description}\n\n\`\`\`yaml\n${example}\n\`\`\``,
})

/** A mapping with a fixed set of keys, and notes under `x-`. `title` says what it is in messages. */
export const mapping = (
  title: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
) => ({
  title,
  type: 'object',
  properties,
  required,
  patternProperties: { '^x-': true },
  additionalProperties: false,
})

/** A mapping whose keys are names. */
export const named = (values: JsonSchema, extra: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  propertyNames: NAMED,
  additionalProperties: values,
  ...extra,
})

/** A list of distinct texts, one at least. */
export const listOf = (items: JsonSchema, extra: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items: { type: 'string', ...items },
  uniqueItems: true,
  minItems: 1,
  ...extra,
})
/** A key that is true or false, false when left out. */
export const flag = (description: string): JsonSchema => doc({ type: 'boolean', default: false }, description)
/** One of some names; `fallback` when left out. */
export const oneOfNames = (names: readonly string[], fallback: Json): JsonSchema => ({ enum: names, default: fallback })
