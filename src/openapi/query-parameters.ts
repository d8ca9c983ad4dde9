import type { QueryParameter } from '../features/feature.js'
import type { Lookup } from '../fields/field-type.js'
import type { JsonSchema } from '../json.js'
import { type Filter, MOST_VALUES } from '../resource/filter.js'
import { type FieldSchemas, LINK } from './field-schema.js'
import type { Part } from './part.js'

const COMPARISONS: Readonly<Record<Lookup, string>> = {
  exact: 'is this',
  ne: 'is another than this, or empty',
  in: 'is one of these',
  gt: 'is more than this',
  gte: 'is this or more',
  lt: 'is less than this',
  lte: 'is this or less',
  contains: 'has this in it',
  icontains: 'has this in it, in either case',
  startswith: 'starts with this',
  istartswith: 'starts with this, in either case',
  isnull: 'is empty, or is not',
}

/** The parameter that compares a field. */
export function filterParameter(
  { parameter, field, lookup }: Omit<Filter, 'read'>,
  schemas: FieldSchemas,
  link: boolean,
): Part {
  const description = `Only records whose \`${field.name}\` ${COMPARISONS[lookup]}.`
  const schema = link ? { anyOf: [schemas.compared(field), LINK] } : schemas.compared(field)
  if (lookup === 'in') return listParameter(parameter, description, schema, { maxItems: MOST_VALUES })
  const given: JsonSchema = lookup === 'isnull' ? { type: 'boolean' } : schema
  return { name: parameter, in: 'query', description, schema: given }
}

/** The parameter of a feature. */
export function queryParameter({ name, description, schema }: QueryParameter): Part {
  const between = schema['type'] === 'array' ? { style: 'form', explode: false } : {}
  return { name, in: 'query', description, ...between, schema }
}

/** A name that is given twice is refused. */
export const ONCE = { uniqueItems: true } as const

interface ListLimits {
  readonly maxItems?: number
  readonly uniqueItems?: true
}

/** Values between commas. */
export function listParameter(name: string, description: string, items: JsonSchema, limits: ListLimits): Part {
  const schema = { type: 'array', items, minItems: 1, ...limits }
  return { name, in: 'query', description, style: 'form', explode: false, schema }
}

/** The parameter of one value, or of several between commas, as one that is given once for each value. */
export function repeated({ schema, ...described }: Part, maxItems: number): Part {
  const { items = schema } = schema as JsonSchema
  return { ...described, style: 'form', explode: true, schema: { type: 'array', items, minItems: 1, maxItems } }
}
