import type { JsonPart } from './json-part.js'

/** Converts the document to OpenAPI 3.0 for tools that do not support 3.1. Keywords that 3.0 lacks are rewritten or dropped. */
export function toOpenApi30(document: JsonPart): JsonPart {
  const info = document['info'] as JsonPart
  return { ...(convert(document) as JsonPart), openapi: '3.0.3', info: downgradeInfo(info) }
}

/** 3.0 identifies licences only by URL. */
function downgradeInfo({ summary: _, license, ...info }: JsonPart): JsonPart {
  const { identifier, ...named } = (license ?? {}) as JsonPart
  const url =
    identifier === 'NOASSERTION' ? 'https://spdx.org/licenses/' : `https://spdx.org/licenses/${identifier}.html`
  return { ...info, license: identifier === undefined ? named : { ...named, url } }
}

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['example', 'default', 'enum'])

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(downgradeSchema(value as JsonPart)).map(([key, member]) =>
      NAMED.has(key) ? [key, mapMembers(member as JsonPart)] : [key, DATA.has(key) ? member : convert(member)],
    ),
  )
}

/** Members whose own members have names, which are not keywords: properties, and the response `default`. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'responses'])

function mapMembers(properties: JsonPart): JsonPart {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, convert(schema)]))
}

/** Parts other than schemas have none of these members, except security schemes, whose `type` no conversion changes. */
function downgradeSchema(schema: JsonPart): JsonPart {
  return CONVERSIONS.reduce((converted, convertOne) => convertOne(converted), schema)
}

const CONVERSIONS: readonly ((schema: JsonPart) => JsonPart)[] = [
  ({ examples, ...rest }) =>
    Array.isArray(examples) ? { ...rest, example: examples[0] } : withDefined(rest, { examples }),
  (schema) => (schema['propertyNames'] === undefined ? schema : namedProperties(schema)),
  ({ contentEncoding, ...rest }) => (contentEncoding === undefined ? rest : { ...rest, format: 'byte' }),
  ({ const: only, ...rest }) => (only === undefined ? rest : { ...rest, enum: [only] }),
  (schema) => (Array.isArray(schema['type']) ? nullableType(schema, schema['type']) : schema),
  (schema) => (schema['type'] === 'null' ? { type: 'object', nullable: true, maxProperties: 0 } : schema),
  (schema) => (Array.isArray(schema['anyOf']) ? nullableUnion(schema, schema['anyOf'] as readonly JsonPart[]) : schema),
  ({ not, ...rest }) => ((not as JsonPart | undefined)?.['type'] === 'null' ? rest : withDefined(rest, { not })),
]

function withDefined(schema: JsonPart, members: JsonPart): JsonPart {
  return { ...schema, ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) }
}

/** 3.0 lacks `propertyNames`: each name without a schema becomes a property of any type. */
function namedProperties({ propertyNames, properties, ...rest }: JsonPart): JsonPart {
  const names = (propertyNames as JsonPart)['enum'] as readonly string[]
  const described = properties as JsonPart
  const others = names.filter((name) => !Object.hasOwn(described, name))
  const ignored = others.map((name) => [name, { description: 'Set by the server; ignored in requests.' }] as const)
  return { ...rest, properties: { ...described, ...Object.fromEntries(ignored) }, additionalProperties: false }
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
  if (only !== undefined && named.length === 1) return { ...only, ...rest, nullable: true }
  // `nullable` requires a type.
  return { ...rest, anyOf: named.map((choice) => ({ ...choice, nullable: true })) }
}
