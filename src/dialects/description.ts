import type { JsonSchema } from '../foundation/json.js'
import type { ParameterDescription } from '../pagination/paginator.js'

/** A parameter whose format is explained by its description. */
export function textParameter(name: string, description: string): ParameterDescription {
  return { name, description, schema: { type: 'string' } }
}

/** A parameter with some of these names, separated by commas. */
export function namesParameter(name: string, description: string, names: readonly string[]): ParameterDescription {
  const schema = { type: 'array', items: { type: 'string', enum: names }, minItems: 1 }
  return { name, description, schema, style: 'form', explode: false }
}

/** A parameter that orders a list by some of these fields, each at most once. */
export function orderParameter(name: string, fields: readonly string[]): ParameterDescription {
  const { schema, ...described } = namesParameter(
    name,
    'The order: each field at most once, with `-` for descending.',
    eitherWay(fields),
  )
  return { ...described, schema: { ...schema, uniqueItems: true } }
}

/** Each field ascending and descending: `title`, `-title`. */
function eitherWay(fields: readonly string[]): readonly string[] {
  return fields.flatMap((field) => [field, `-${field}`])
}

/** An object with all of these members required. */
export function objectOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** Adds a member that says whether a count is an estimate. */
export function estimable({ properties, ...schema }: JsonSchema, count: string): JsonSchema {
  const estimated = { const: true, description: `Present, and true, when \`${count}\` is an estimate.` }
  return { ...schema, properties: { ...(properties as JsonSchema), [`${count}_estimated`]: estimated } }
}

/** The object around the records of a list. */
export function envelopeOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return estimable(objectOf(properties), 'count')
}

/** A number of records or pages. */
export const COUNT: JsonSchema = { type: 'integer', format: 'int64', minimum: 0 }

/** The path and query of another page, if there is one. */
export const NEIGHBOUR: JsonSchema = { type: ['string', 'null'], format: 'uri-reference' }
