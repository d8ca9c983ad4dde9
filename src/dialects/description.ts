import type { JsonSchema } from '../json.js'
import type { ParameterDescription } from '../pagination/paginator.js'

/** A parameter whose form only its description tells. */
export function textParameter(name: string, description: string): ParameterDescription {
  return { name, description, schema: { type: 'string' } }
}

/** An object that has all of these members. */
export function objectOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** A number of records or pages. */
export const COUNT: JsonSchema = { type: 'integer', format: 'int64', minimum: 0 }

/** The path and query of another page, if there is one. */
export const NEIGHBOUR: JsonSchema = { type: ['string', 'null'], format: 'uri-reference' }
