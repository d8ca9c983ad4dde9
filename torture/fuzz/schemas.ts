import { generateSync } from 'json-schema-faker'
import type { Random } from '../random.js'

/** A JSON Schema as our documents have them. */
export type Schema = Readonly<Record<string, unknown>>

/** A value near a limit of a schema, on one side of it or the other, and the rule that the limit is of. */
export interface Variant {
  readonly rule: string
  readonly value: unknown
}

/** Queries about a document's schemas. */
export interface Schemas {
  resolve(schema: Schema): Schema
  isValid(schema: Schema, value: unknown): boolean
}

type Members = Readonly<Record<string, Schema>>

/** The characters of most texts: white space, characters with a meaning in HTML, SQL and URLs, and letters of one to three bytes. */
const CHARACTERS = `[a-zA-Z0-9 _.äß€'"%<>&;?*-]`
const MAX_CHARACTERS = 40
const MAX_ITEMS = 4
/** A value is made again when a rule that only its document knows does not allow it: bounds of decimals, for one. */
const MAX_TRIES = 200
const ANYTHING: Schema = { enum: [1, 'text', true, [1, null], { a: { b: 'c' } }] }

/** Makes values that a schema allows. */
export function createMaker(random: Random, { resolve, isValid }: Schemas): (schema: Schema) => unknown {
  const recipes = new WeakMap<Schema, Schema>()
  const formats = { decimal: () => `${random.between(-99, 99)}.${random.between(0, 9)}` }

  return (schema) => {
    const recipe = recipes.get(schema) ?? recipeOf(schema)
    recipes.set(schema, recipe)
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const value = generateSync(recipe, { seed: random.between(1, 2 ** 31), formats })
      if (isValid(schema, value)) return value
    }
    throw new Error(`no value was found that ${JSON.stringify(schema)} allows`)
  }

  /** The schema as json-schema-faker is to read it: without references, and no broader than is useful. */
  function recipeOf(given: Schema): Schema {
    const schema = resolve(given)
    const choices = choicesOf(schema)
    // A link is the path of an existing record, which no schema can express.
    if (choices) return { anyOf: choices.filter((each) => each['format'] !== 'uri-reference').map(recipeOf) }
    if (schema['enum'] !== undefined) return { enum: schema['enum'] }
    const { type, items } = schema
    if (type === undefined) return ANYTHING
    const types = [type].flat()
    if (types.includes('object')) return recipeOfObject(schema)
    if (types.includes('array')) return { ...withMost(schema, 'Items', MAX_ITEMS), items: recipeOf(items as Schema) }
    return types.includes('string') ? recipeOfText(schema) : schema
  }

  function recipeOfObject(schema: Schema): Schema {
    const named = ((schema['propertyNames'] as Schema | undefined)?.['enum'] ?? []) as readonly string[]
    const { type, required = [] } = schema
    // Members that may be present but are not described are ignored, whatever their value.
    const members = [...named.map((name) => [name, {}] as const), ...Object.entries(membersOf(schema))]
    const properties = Object.fromEntries(members.map(([name, member]) => [name, recipeOf(member)]))
    return { type, required, properties, additionalProperties: false }
  }
}

function recipeOfText(schema: Schema): Schema {
  if (schema['pattern'] !== undefined) return { type: schema['type'], pattern: schema['pattern'] }
  if (schema['format'] !== undefined) return { type: schema['type'], format: schema['format'] }
  const { minLength, maxLength } = withMost(schema, 'Length', MAX_CHARACTERS)
  return { type: schema['type'], pattern: `^${CHARACTERS}{${Number(minLength)},${Number(maxLength)}}$` }
}

function withMost(schema: Schema, of: 'Items' | 'Length', most: number): Schema {
  const least = Number(schema[`min${of}`] ?? 0)
  return {
    ...schema,
    [`min${of}`]: least,
    [`max${of}`]: Math.min(Number(schema[`max${of}`] ?? Infinity), least + most),
  }
}

function choicesOf(schema: Schema): readonly Schema[] | undefined {
  return (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined
}

function membersOf(schema: Schema): Members {
  return (schema['properties'] ?? {}) as Members
}

/**
 * A valid value changed in one place at a time: to both sides of each limit, to another type, to null, without a required member and with an unknown
 * one. A validator decides which of them the schema allows.
 */
export function variantsOf(given: Schema, valid: unknown, schemas: Schemas): readonly Variant[] {
  const schema = schemas.resolve(given)
  const choices = choicesOf(schema)
  if (choices) {
    const chosen = choices.find((each) => schemas.isValid(each, valid))
    return [{ rule: 'anyOf', value: { of: 'none' } }, ...(chosen ? variantsOf(chosen, valid, schemas) : [])]
  }
  const types = [schema['type']].flat()
  return [
    { rule: 'type', value: types.includes('object') ? 7 : { of: 'another type' } },
    { rule: 'null', value: null },
    ...LIMITS.flatMap(({ keyword, values }) => {
      const limit = schema[keyword]
      return limit === undefined ? [] : values(limit as never).map((value) => ({ rule: keyword, value }))
    }),
    ...(types.includes('object') ? variantsOfMembers(schema, valid, schemas) : []),
    ...(types.includes('array') ? variantsOfItems(schema, valid, schemas) : []),
  ]
}

interface Limit {
  readonly keyword: string
  readonly values: (limit: never) => readonly unknown[]
}

/** How to come to both sides of a limit. */
const LIMITS: readonly Limit[] = [
  { keyword: 'enum', values: (known: readonly unknown[]) => ['none of them', ...known] },
  { keyword: 'minLength', values: (least: number) => ['a'.repeat(least), 'a'.repeat(Math.max(0, least - 1))] },
  { keyword: 'maxLength', values: (most: number) => ['a'.repeat(most), '😀'.repeat(most), 'a'.repeat(most + 1)] },
  { keyword: 'minimum', values: (least: number) => [least, least - 1] },
  { keyword: 'maximum', values: (most: number) => [most, most + 1] },
  { keyword: 'pattern', values: () => ['\u2603'] },
  { keyword: 'format', values: () => ['no such thing'] },
  { keyword: 'x-minimum', values: (least: string) => [least, moved(least, -0.01)] },
  { keyword: 'x-maximum', values: (most: string) => [most, moved(most, 0.01)] },
]

function moved(decimal: string, by: number): string {
  return (Number(decimal) + by).toFixed(2)
}

function variantsOfMembers(schema: Schema, valid: unknown, schemas: Schemas): readonly Variant[] {
  const whole = valid as Readonly<Record<string, unknown>>
  const required = (schema['required'] ?? []) as readonly string[]
  return [
    ...required.map((name) => {
      const { [name]: _, ...value } = whole
      return { rule: `required ${name}`, value }
    }),
    { rule: 'additionalProperties', value: { ...whole, no_such_member: 1 } },
    ...Object.entries(membersOf(schema)).flatMap(([name, member]) =>
      variantsOf(member, whole[name], schemas).map(({ rule, value }) => ({
        rule: `${name}: ${rule}`,
        value: { ...whole, [name]: value },
      })),
    ),
  ]
}

function variantsOfItems(schema: Schema, valid: unknown, schemas: Schemas): readonly Variant[] {
  const [first] = Array.isArray(valid) ? (valid as readonly unknown[]) : []
  const { minItems, maxItems, uniqueItems } = schema
  return [
    ...(minItems === undefined ? [] : [{ rule: 'minItems', value: [] }]),
    ...(uniqueItems === true ? [{ rule: 'uniqueItems', value: [first, first] }] : []),
    ...(maxItems === undefined
      ? []
      : [{ rule: 'maxItems', value: Array(Number(maxItems) + 1).fill(first) as unknown }]),
    ...(first === undefined ? [] : variantsOf(schema['items'] as Schema, first, schemas)).map(({ rule, value }) => ({
      rule: `item: ${rule}`,
      value: [value],
    })),
  ]
}
