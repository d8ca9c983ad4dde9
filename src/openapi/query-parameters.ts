import type { QueryParameter } from '../features/feature.js'
import type { JsonSchema } from '../json.js'
import { MAX_VALUES } from '../lookups/operands.js'
import type { Filter } from '../resource/filter.js'
import { type FieldSchemas, LINK } from './field-schema.js'
import type { Part } from './json-part.js'

/** The parameter of a filter. */
export function filterParameter(
  { parameter, field, lookup }: Omit<Filter, 'read'>,
  schemas: FieldSchemas,
  link: boolean,
): Part {
  const { operand } = lookup
  const description = `Only records whose \`${field.name}\` ${lookup.description}.`
  const value = schemas.compared(field)
  const schema = operand.schema(link ? { anyOf: [value, LINK] } : value)
  if (operand.list) return listParameter(parameter, description, schema, operand.list.limits(MAX_VALUES))
  return { name: parameter, in: 'query', description, schema }
}

/** The parameter of a feature. */
export function queryParameter({ name, description, schema }: QueryParameter): Part {
  const between = schema['type'] === 'array' ? { style: 'form', explode: false } : {}
  return { name, in: 'query', description, ...between, schema }
}

/** Repeated names are rejected. */
export const ONCE = { uniqueItems: true } as const

interface ListLimits {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: true
}

/** A parameter with values separated by commas. */
export function listParameter(name: string, description: string, items: JsonSchema, limits: ListLimits): Part {
  const schema = { type: 'array', items, minItems: 1, ...limits }
  return { name, in: 'query', description, style: 'form', explode: false, schema }
}

/** Converts a parameter with one or several comma-separated values to a repeated parameter. */
export function repeated({ schema, ...described }: Part, limits: ListLimits): Part {
  const { items = schema } = schema as JsonSchema
  return { ...described, style: 'form', explode: true, schema: { type: 'array', items, minItems: 1, ...limits } }
}
