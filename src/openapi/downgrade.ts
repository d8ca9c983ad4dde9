import type { JsonPart } from './json-part.js'
import { DATA } from './references.js'

/** Converts the document to OpenAPI 3.0 for tools that do not support 3.1. Keywords that 3.0 lacks are rewritten or dropped. */
export function toOpenApi30(document: JsonPart): JsonPart {
  const info = document['info'] as JsonPart
  const { schemas, ...components } = document['components'] as JsonPart
  const described = { ...document, components: { ...components, schemas: withIgnoredMembers(schemas as JsonPart) } }
  return { ...(convert(described) as JsonPart), openapi: '3.0.3', info: downgradeInfo(info) }
}

/** Bodies of resources, which are components, also name the members that are ignored. As properties, these would look writable. */
function withIgnoredMembers(schemas: JsonPart): JsonPart {
  const described = { description: 'Set by the server; ignored in requests.' }
  const entries = Object.entries(schemas) as [string, JsonPart][]
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, isNamed(schema) ? namedProperties(schema, described) : schema]),
  )
}

/** 3.0 identifies licences only by URL. */
function downgradeInfo({ summary: _, license, ...info }: JsonPart): JsonPart {
  const { identifier, ...named } = (license ?? {}) as JsonPart
  const url =
    identifier === 'NOASSERTION' ? 'https://spdx.org/licenses/' : `https://spdx.org/licenses/${identifier}.html`
  return { ...info, license: identifier === undefined ? named : { ...named, url } }
}

/** Keywords whose values are schemas. */
const SCHEMAS: ReadonlySet<string> = new Set(['items', 'not', 'allOf', 'anyOf', 'oneOf'])

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(downgradeSchema(value as JsonPart)).map(([key, member]) =>
      NAMED.has(key) ? [key, mapMembers(member as JsonPart)] : [key, convertMember(key, member)],
    ),
  )
}

function convertMember(key: string, member: unknown): unknown {
  if (DATA.has(key)) return member
  if (!SCHEMAS.has(key)) return convert(member)
  return Array.isArray(member) ? member.map(convertSchema) : convertSchema(member)
}

/** 3.0 lacks schemas that are `true` or `false`. */
function convertSchema(schema: unknown): unknown {
  if (typeof schema !== 'boolean') return convert(schema)
  return schema ? {} : { not: {} }
}

/** Members whose own members have names, which are not keywords, such as properties, and the response `default`. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'responses', 'headers', 'schemas'])

function mapMembers(properties: JsonPart): JsonPart {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, convertSchema(schema)]))
}

/** Parts other than schemas have none of these members, except security schemes, whose `type` no conversion changes. */
function downgradeSchema(schema: JsonPart): JsonPart {
  return CONVERSIONS.reduce((converted, convertOne) => convertOne(converted), schema)
}

const CONVERSIONS: readonly ((schema: JsonPart) => JsonPart)[] = [
  ({ examples, ...rest }) =>
    Array.isArray(examples) ? { ...rest, example: examples[0] } : withDefined(rest, { examples }),
  (schema) => (isNamed(schema) ? namedProperties(schema, {}) : schema),
  ({ not, ...rest }) => (isLoosened(not) ? rest : withDefined(rest, { not })),
  ({ oneOf, ...rest }) => (isLoosened(oneOf) ? { anyOf: oneOf, ...rest } : withDefined(rest, { oneOf })),
  ({ contentEncoding, ...rest }) => (contentEncoding === undefined ? rest : { ...rest, format: 'byte' }),
  ({ const: only, ...rest }) => (only === undefined ? rest : { ...rest, ...constant(only) }),
  (schema) => exclusive(schema, 'Minimum', Math.max),
  (schema) => exclusive(schema, 'Maximum', Math.min),
  withoutLacking,
  (schema) => (Array.isArray(schema['type']) ? nullableType(schema, schema['type']) : schema),
  (schema) => (schema['type'] === 'null' ? { type: 'object', nullable: true, maxProperties: 0 } : schema),
  (schema) => (Array.isArray(schema['anyOf']) ? nullableUnion(schema, schema['anyOf'] as readonly JsonPart[]) : schema),
  ({ not, ...rest }) => ((not as JsonPart | undefined)?.['type'] === 'null' ? rest : withDefined(rest, { not })),
  // 3.0 requires `items`.
  (schema) => (schema['type'] === 'array' && schema['items'] === undefined ? { ...schema, items: {} } : schema),
]

/** Keywords of JSON Schema that 3.0 lacks, and that no others express. Without them, a schema accepts more. */
const ASSERTIONS: ReadonlySet<string> = new Set([
  ...['$dynamicRef', 'patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas'],
  ...['unevaluatedProperties', 'prefixItems', 'contains', 'minContains', 'maxContains', 'unevaluatedItems'],
  ...['if', 'then', 'else'],
])
/** Keywords that 3.0 lacks, and that change nothing in what a schema accepts. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$anchor', '$dynamicAnchor', '$vocabulary', '$comment', '$defs'],
  ...['contentMediaType', 'contentSchema'],
])

/** Keywords that change nothing if they are ignored. */
const BESIDE_REFERENCES: ReadonlySet<string> = new Set([
  '$ref',
  'title',
  'description',
  'example',
  'examples',
  'default',
])

/** Whether the 3.0 form of a schema, or of one in a list, accepts more: `not` would accept less of it, and `oneOf` could match two. */
function isLoosened(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(isLoosened)
  if (typeof schema !== 'object' || schema === null) return false
  const { type, const: only, $ref: pointer } = schema as JsonPart
  // The form of null accepts `{}`, and 3.0 ignores the keywords next to a reference.
  if (type === 'null' || only === null) return true
  if (pointer !== undefined && Object.keys(schema).some((key) => !BESIDE_REFERENCES.has(key))) return true
  return Object.entries(schema).some(([key, member]: [string, unknown]) => {
    if (DATA.has(key)) return false
    return ASSERTIONS.has(key) || (NAMED.has(key) ? isLoosened(Object.values(member as JsonPart)) : isLoosened(member))
  })
}

/** `additionalProperties` and `items` are about all others than the properties and items of a dropped keyword. */
function withoutLacking(schema: JsonPart): JsonPart {
  const isDropped = (key: string) =>
    ASSERTIONS.has(key) ||
    ANNOTATIONS.has(key) ||
    (key === 'additionalProperties' && schema['patternProperties'] !== undefined) ||
    (key === 'items' && schema['prefixItems'] !== undefined)
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !isDropped(key)))
}

function constant(value: unknown): JsonPart {
  return value === null ? { type: 'null' } : { enum: [value] }
}

/** In 3.0, an exclusive bound is a bound and a boolean. `stricter` chooses between two bounds. */
function exclusive(
  schema: JsonPart,
  bound: 'Minimum' | 'Maximum',
  stricter: (...limits: number[]) => number,
): JsonPart {
  const { [`exclusive${bound}`]: limit, ...rest } = schema
  if (typeof limit !== 'number') return schema
  const key = bound.toLowerCase()
  const { [key]: inclusive = limit } = rest
  const strictest = stricter(limit, inclusive as number)
  return { ...rest, [key]: strictest, ...(strictest === limit && { [`exclusive${bound}`]: true }) }
}

function withDefined(schema: JsonPart, members: JsonPart): JsonPart {
  return { ...schema, ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) }
}

/** Whether `propertyNames` lists all names. */
function isNamed({ propertyNames, properties, patternProperties }: JsonPart): boolean {
  const names = (propertyNames as JsonPart | undefined)?.['enum']
  return properties !== undefined && patternProperties === undefined && Array.isArray(names)
}

/** 3.0 lacks `propertyNames`: each name becomes a property. `any` is the schema of properties with any value. */
function namedProperties(
  { propertyNames, properties, additionalProperties, ...rest }: JsonPart,
  any: JsonPart,
): JsonPart {
  const described = properties as JsonPart
  const other = additionalProperties === undefined || additionalProperties === true ? any : additionalProperties
  const names = (propertyNames as JsonPart)['enum'] as readonly string[]
  const allowed = names.filter((name) => Object.hasOwn(described, name) || other !== false)
  const named = allowed.map((name) => [name, Object.hasOwn(described, name) ? described[name] : other] as const)
  return { ...rest, properties: Object.fromEntries(named), additionalProperties: false }
}

function nullableType({ type: _, ...rest }: JsonPart, types: readonly unknown[]): JsonPart {
  const named = types.filter((type) => type !== 'null')
  const nullable = named.length < types.length ? { nullable: true } : {}
  if (named.length === 1) return { type: named[0], ...rest, ...nullable }
  return { ...rest, anyOf: named.map((type) => ({ type })), ...nullable }
}

function nullableUnion({ anyOf: _, ...rest }: JsonPart, choices: readonly JsonPart[]): JsonPart {
  const named = choices.filter((choice) => choice['type'] !== 'null')
  if (named.length === choices.length) return { ...rest, anyOf: choices }
  const [only] = named
  // In 3.0, members beside a reference are ignored, so `nullable` cannot stand there: the schema of null stays a choice.
  if (named.every((choice) => choice['$ref'] !== undefined)) return { ...rest, anyOf: choices }
  if (only !== undefined && named.length === 1) return { ...downgradeSchema(only), ...rest, nullable: true }
  // `nullable` requires a type.
  return { ...rest, anyOf: named.map((choice) => ({ ...choice, nullable: true })) }
}
