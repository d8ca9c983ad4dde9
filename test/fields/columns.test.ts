import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config/yaml/document.js'
import { FIELD_TYPES } from '../../src/internal.js'
import type { Json } from '../../src/foundation/json.js'
import { introspect, type Introspected } from '../../src/migrations/introspect/introspect.js'
import { createAll, wantedTables } from '../../src/migrations/plan/sql.js'
import { specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'

type Options = Readonly<Record<string, Json>>

interface Case {
  readonly model: string
  readonly field: Options
  /** The type that introspection finds. */
  readonly found: string
  /** The default that it finds; undefined where the default stays as it is. */
  readonly value: Json | undefined
}

/** Types and options whose columns other types declare too. */
const FOUND: Readonly<Record<string, string>> = { string: 'text', email: 'string', url: 'string' }

/** The type of the items of a list. */
const itemType = (options: Options): string | undefined => (options['items'] as { type: string } | undefined)?.type

/** Each example of each type as a default; a mapping would be a function of the database. */
const CASES: readonly Case[] = FIELD_TYPES.flatMap(({ name, examples }) =>
  examples.flatMap(({ json, wire = json, source, options = {} }, index): readonly Case[] => {
    const isMapping = typeof json === 'object' && json !== null && !Array.isArray(json)
    if (isMapping || source !== undefined || (Number.isInteger(json) && !Number.isSafeInteger(json))) return []
    const found = 'max' in options ? undefined : FOUND[name]
    return [
      {
        model: `${name}_${index}`,
        field: { type: name, ...options, default: json },
        found: found ?? name,
        value: [wire].flat().some((each) => isKept(itemType(options) ?? name, each)) ? undefined : wire,
      },
    ]
  }),
)

/** A timestamp stays as it is because its text depends on a time zone, and long numbers because they are not read. */
function isKept(type: string, value: Json): boolean {
  if (type === 'timestamp') return true
  return typeof value === 'number' && !/^-?\d{1,15}(?:\.\d{1,15})?$/.test(String(value))
}

describe('a column that a field declares', () => {
  let database: TestDatabase
  let introspected: Introspected
  let fields: Readonly<Record<string, Options>>

  beforeAll(async () => {
    database = await openTestDatabase()
    const models = Object.fromEntries(
      CASES.map(({ model, field }) => [
        model,
        { fields: { id: { type: 'bigint', primary_key: true }, value: field, nothing: { ...field, nullable: true } } },
      ]),
    )
    const spec = specOf(JSON.stringify({ version: 1, models }).replaceAll('\ufeff', '\\ufeff'))
    for (const text of createAll(wantedTables(spec))) await database.query({ text, values: [] })
    introspected = await introspect(database, {
      file: 'resources.yaml',
      directory: (await makeFolder()).path,
      manage: true,
      resources: 'none',
    })
    const document = readConfig(new TextEncoder().encode(introspected.text), 'resources.yaml')
    if (Array.isArray(document)) throw new Error('the result of introspect is not a configuration')
    const { models: found } = document.value as { models: Record<string, { fields: Record<string, Options> }> }
    fields = Object.fromEntries(Object.entries(found).map(([name, model]) => [name, model.fields['value'] ?? {}]))
  })
  afterAll(() => database.close())

  test.each(CASES)('$field is introspected as a field of the type $found', ({ model, field, found, value }) => {
    const { default: said, ...others } = fields[model] ?? {}
    expect(others).toMatchObject({ type: found })
    expect(said).toEqual(value)
    // A number in another form, or a check that a file cannot contain, shows in the plan.
    for (const option of ['max', 'precision', 'scale', 'choices'])
      if (option in field && found === field['type']) expect(others[option]).toEqual(field[option])
  })

  test('plans no change', () => {
    expect(introspected.remaining).toEqual([])
    expect(introspected.models).toHaveLength(CASES.length)
  })

  test('is tested for every field type', () => {
    const tested = new Set(CASES.map(({ field }) => field['type']))
    expect(FIELD_TYPES.filter((type) => type.fromColumn && type.examples.length > 0 && !tested.has(type.name))).toEqual(
      [],
    )
  })
})
