import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { configSchema } from '../../src/config/schema/schema.js'
import { renderConfigSchema } from '../../src/config/schema/editors.js'
import { FIELD_TYPES } from '../../src/fields/index.js'
import type { JsonSchema } from '../../src/foundation/json.js'
import { mistakesOf } from '../support/config.js'

const isMapping = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What stands for each key of a schema, wherever. */
const keysOf = (schema: unknown): readonly (readonly [key: string, value: unknown])[] => {
  if (Array.isArray(schema)) return schema.flatMap(keysOf)
  if (!isMapping(schema)) return []
  const { properties, ...rest } = schema
  const own = isMapping(properties) ? Object.entries(properties) : []
  return [...own, ...[...own.map(([, value]) => value), ...Object.values(rest)].flatMap(keysOf)]
}

/** Every mapping in a schema that describes keys one by one. */
const mappingsOf = (schema: unknown): readonly JsonSchema[] => {
  if (Array.isArray(schema)) return schema.flatMap(mappingsOf)
  if (!isMapping(schema)) return []
  const inside = Object.values(schema).flatMap(mappingsOf)
  return isMapping(schema['properties']) && schema['title'] !== undefined ? [schema, ...inside] : inside
}

describe('the published schema', () => {
  const schema = configSchema()

  test('is the committed file', () => {
    expect(readFileSync('resources.schema.json', 'utf8')).toBe(renderConfigSchema())
  })

  test('is valid JSON Schema 2020-12', () => {
    expect(new Ajv2020({ strict: false }).validateSchema(schema)).toBe(true)
  })

  test('allows no unknown keys except notes, and describes every key', () => {
    const mappings = mappingsOf(schema)
    expect(mappings.length).toBeGreaterThan(FIELD_TYPES.length + 5)
    for (const mapping of mappings) {
      expect(mapping).toMatchObject({ additionalProperties: false, patternProperties: { '^x-': true } })
      for (const value of Object.values(mapping['properties'] as JsonSchema)) {
        expect(value).toMatchObject({
          description: expect.stringMatching(/.\.?$/),
          markdownDescription: expect.any(String),
        })
      }
    }
  })

  test('has a description for editors at every key', () => {
    const keys = keysOf(JSON.parse(renderConfigSchema()))
    expect(keys.length).toBeGreaterThan(100)
    const bare = keys.filter(([, value]) => {
      const { description, markdownDescription: text } = value as JsonSchema
      return typeof description !== 'string' || typeof text !== 'string' || !text.startsWith(description)
    })
    expect(bare.map(([key]) => key)).toEqual([])
  })

  test.each(FIELD_TYPES.map((type) => [type.name, type] as const))(
    'has a form for fields of the type %s',
    (_name, type) => {
      const text = JSON.stringify(schema)
      expect(text).toContain(`"const":"${type.name}"`)
      expect(text).toContain(JSON.stringify(type.summary))
    },
  )

  test('accepts the configuration of this repository', () => {
    expect(mistakesOf(readFileSync('resources.yaml', 'utf8'))).toEqual([])
  })

  test('accepts notes in keys that start with x-', () => {
    expect(mistakesOf('version: 1\nx-team: books\napi: { x-a: [1] }\n')).toEqual([])
  })
})
