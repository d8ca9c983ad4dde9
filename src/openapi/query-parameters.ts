import type { QueryParameter } from '../features/feature.js'
import type { JsonSchema } from '../json.js'
import type { JsonPart } from './json-part.js'

/** The parameter of a feature. */
export function queryParameter({ name, description, schema, several }: Omit<QueryParameter, 'read'>): JsonPart {
  const between = several ? { style: 'form', explode: false } : {}
  return { name, in: 'query', description, ...between, schema }
}

interface ListLimits {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: true
}

/** Converts a parameter with one or several comma-separated values to a repeated parameter. */
export function repeated({ schema, ...described }: JsonPart, limits: ListLimits): JsonPart {
  const { items = schema } = schema as JsonSchema
  return { ...described, style: 'form', explode: true, schema: { type: 'array', items, minItems: 1, ...limits } }
}
