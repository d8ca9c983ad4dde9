import { configSchema, type JsonSchema } from '../../src/internal.js'

/** A key of the configuration, as its schema tells of it. */
export interface Topic {
  /** `resources.path` */
  readonly path: string
  readonly schema: JsonSchema
}

type Steps = readonly string[]

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const propertiesOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  isSchema(schema['properties']) ? (schema['properties'] as Readonly<Record<string, JsonSchema>>) : {}

/** The types that a field can have, or the schema itself where there is no choice. */
const alternativesOf = (schema: JsonSchema): readonly JsonSchema[] =>
  Array.isArray(schema['oneOf']) ? (schema['oneOf'] as readonly JsonSchema[]) : [schema]

/** What one of a mapping's own names holds, or one item of a list. */
const insideOf = (schema: JsonSchema): JsonSchema | undefined =>
  [schema['additionalProperties'], schema['items']].find(isSchema)

/** The schema of a type is also reached by its name: `models.fields.string`. */
const typeName = (schema: JsonSchema): unknown => propertiesOf(schema)['type']?.['const']

/** The schemas that a path leads to, by keys alone or with names in between, as it stands in a file; several where types differ. */
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

/** What the configuration knows at a path; undefined when there is nothing. */
export function findTopic(path: string): Topic | undefined {
  const found = follow(configSchema(), path.split('.'))
  const told = found.find((each) => each['description'] !== undefined) ?? found[0]
  return told && { path, schema: told }
}

/** Whether a word can only be the path of a key: no generated route has such a name. */
export const isTopic = (word: string): boolean => Object.hasOwn(propertiesOf(configSchema()), word.split('.')[0] ?? '')

/** The keys that a schema has: its own, those of what its names hold, and of a field those of every type. */
export function keysOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const own = Object.assign({}, ...alternativesOf(schema).map(propertiesOf)) as Readonly<Record<string, JsonSchema>>
  const inside = insideOf(schema)
  return Object.keys(own).length > 0 || !inside ? own : keysOf(inside)
}

/** Every path that leads somewhere, by keys alone. */
export function topicNames(): readonly string[] {
  const under = (schema: JsonSchema, before: string): readonly string[] =>
    Object.entries(keysOf(schema)).flatMap(([key, each]) => [`${before}${key}`, ...under(each, `${before}${key}.`)])
  return under(configSchema(), '')
}
