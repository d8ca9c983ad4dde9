import { TABLE_PATTERN } from '../../fields/table-name.js'
import { FORBIDDEN_NAMES, type Json, type JsonSchema } from '../../foundation/json.js'

const NAME = '^[a-z][a-z0-9_]{0,62}$'
const NAME_HINT = 'a name is a lower-case letter and then at most 62 lower-case letters, digits and underscores'

/** The schema of the names of models, resources and settings. */
export const NAMED: JsonSchema = { pattern: NAME, patternErrorMessage: NAME_HINT }

/** Every object of JavaScript has members with these names. */
const INHERITED = 'hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf'

/** The pattern of field names, without anchors. Upper-case letters are allowed, as in `displayName`, because other programs use them. */
export const FIELD_NAME = `(?!(?:${INHERITED})(?![A-Za-z0-9_]))[A-Za-z][A-Za-z0-9_]{0,62}`
const FIELD_NAME_HINT =
  'the name of a field is a letter and then at most 62 letters, digits and underscores; names that every JavaScript object has, such as `toString`, are not allowed'

const FIELD = new RegExp(`^${FIELD_NAME}$`)

/** Whether a text is a valid name of a field. */
export function isFieldName(name: string): boolean {
  return FIELD.test(name) && !FORBIDDEN_NAMES.has(name)
}

/** The schema of the names of fields. */
export const FIELD_NAMED: JsonSchema = { pattern: `^${FIELD_NAME}$`, patternErrorMessage: FIELD_NAME_HINT }

const DATABASE_NAME_HINT = 'a name in PostgreSQL has 1 to 63 bytes, and may contain any character except U+0000'

/** The schema of column names. Their length in bytes is checked separately. */
export const DATABASE_NAME: JsonSchema = {
  pattern: '^[^\\u0000]{1,63}$',
  patternErrorMessage: DATABASE_NAME_HINT,
}

/** The schema of table names, with or without a database schema. */
export const TABLE_NAME: JsonSchema = {
  pattern: TABLE_PATTERN,
  patternErrorMessage: 'a table is written as `books`, `Order Details`, `sales.Customers` or `sales."a.b"`',
}

/** A schema with its description for editors, and an example. */
export function doc(schema: JsonSchema, description: string, example?: string): JsonSchema {
  return {
    ...schema,
    description,
    markdownDescription: example === undefined ? description : `${description}\n\n\`\`\`yaml\n${example}\n\`\`\``,
  }
}

/** A mapping with a fixed set of keys; keys that start with `x-` are allowed as notes. `title` names it in messages. */
export function mapping(
  title: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
) {
  return {
    title,
    type: 'object',
    properties,
    required,
    patternProperties: { '^x-': true },
    additionalProperties: false,
  }
}

/** A mapping whose keys are names. */
export function named(values: JsonSchema): JsonSchema {
  return {
    type: 'object',
    propertyNames: NAMED,
    additionalProperties: values,
  }
}

/** A mapping whose keys are names of fields. */
export function fieldsNamed(values: JsonSchema, extra: JsonSchema): JsonSchema {
  return {
    type: 'object',
    propertyNames: FIELD_NAMED,
    additionalProperties: values,
    ...extra,
  }
}

/** A list of distinct texts; it has at least one item by default. */
export function listOf(items: JsonSchema, extra: JsonSchema = {}): JsonSchema {
  return {
    type: 'array',
    items: { type: 'string', ...items },
    uniqueItems: true,
    minItems: 1,
    ...extra,
  }
}

/** A boolean key; false by default. */
export function flag(description: string): JsonSchema {
  return doc({ type: 'boolean', default: false }, description)
}

/** One of several names; `fallback` by default. */
export function oneOfNames(names: readonly string[], fallback: Json): JsonSchema {
  return { enum: names, default: fallback }
}
