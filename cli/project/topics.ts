import { configSchema, type JsonSchema } from '../../src/internal.js'

/** The description of a configuration key, from the JSON Schema. */
export interface Topic {
  /** `resources.path` */
  readonly path: string
  readonly schema: JsonSchema
}

type Steps = readonly string[]

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return isSchema(schema['properties']) ? (schema['properties'] as Readonly<Record<string, JsonSchema>>) : {}
}

/** Returns the alternatives of a schema, or the schema itself if there are none. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return Array.isArray(schema['oneOf']) ? (schema['oneOf'] as readonly JsonSchema[]) : [schema]
}

/** Returns the schema of a mapping's values or of a list's items. */
function insideOf(schema: JsonSchema): JsonSchema | undefined {
  return [schema['additionalProperties'], schema['items']].find(isSchema)
}

/** The schema of a field type can also be reached by its name: `models.fields.string`. */
function typeName(schema: JsonSchema): unknown {
  return propertiesOf(schema)['type']?.['const']
}

/** Returns the schemas at a path, with or without the names in between; several if field types differ. */
function follow(schema: JsonSchema, [first, ...rest]: Steps): readonly JsonSchema[] {
  if (first === undefined) return [schema]
  const alternatives = alternativesOf(schema)
  const byType = alternatives.filter((each) => typeName(each) === first)
  if (byType.length > 0) return byType.flatMap((each) => follow(each, rest))
  const byKey = alternatives.flatMap((each) => {
    const next = propertiesOf(each)[first]
    return next ? follow(next, rest) : []
  })
  if (byKey.length > 0) return byKey
  const inside = insideOf(schema)
  if (!inside) return []
  const skipped = follow(inside, [first, ...rest])
  return skipped.length > 0 ? skipped : isSchema(inside) ? follow(inside, rest) : []
}

/** Describes the key at a path; returns undefined if there is none. */
export function findTopic(path: string): Topic | undefined {
  const found = follow(configSchema(), path.split('.'))
  const described = found.find((each) => each['description'] !== undefined) ?? found[0]
  return described && { path, schema: described }
}

/** Whether a word can only be the path of a key, because no generated route has such a name. */
export function isTopic(word: string): boolean {
  return Object.hasOwn(propertiesOf(configSchema()), word.split('.')[0] ?? '')
}

/** Returns the keys of a schema: its own keys, the keys of its mapping values, and for a field the keys of every type. */
export function keysOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const own = Object.assign({}, ...alternativesOf(schema).map(propertiesOf)) as Readonly<Record<string, JsonSchema>>
  const inside = insideOf(schema)
  return Object.keys(own).length > 0 || !inside ? own : keysOf(inside)
}

/** Returns all paths of keys. */
export function topicNames(): readonly string[] {
  const under = (schema: JsonSchema, before: string): readonly string[] =>
    Object.entries(keysOf(schema)).flatMap(([key, each]) => [`${before}${key}`, ...under(each, `${before}${key}.`)])
  return under(configSchema(), '')
}
