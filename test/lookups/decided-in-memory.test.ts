import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { compareValue, type StoredText } from '../../src/access/decide/compare.js'
import type { FieldSpec } from '../../src/config/spec.js'
import { fail } from '../../src/foundation/fail.js'
import { fieldType } from '../../src/fields/index.js'
import { LOOKUPS, lookupOfType, lookupsOfType, parameterOf } from '../../src/lookups/index.js'
import { type Api, startApi } from '../support/api.js'

/** The values that records have, by type. Each lookup is compared with each value, and with each text. */
const VALUES: Readonly<Record<string, { readonly stored: readonly StoredText[]; readonly texts?: readonly string[] }>> =
  {
    string: { stored: [null, '', 'a', 'A', 'ab', 'b', 'ba', '%', '_', '\\', 'é', 'É', '😀', '\uffff'] },
    integer: { stored: [null, '-10', '-9', '0', '1', '2', '10', '2147483647'] },
    bigint: { stored: [null, '-9007199254740993', '9007199254740992', '9007199254740993'] },
    decimal: { stored: [null, '-1.5', '0', '0.5', '2', '10'] },
    boolean: { stored: [null, 'false', 'true'] },
    date: { stored: [null, '0001-01-01', '2024-02-29', '2024-03-01', '9999-12-31'] },
    email: { stored: [null, 'ada@example.com', 'ADA@example.com'], texts: ['ad', 'AD', '.com'] },
  }

const TYPES = Object.keys(VALUES).map((name) => fieldType(name) ?? fail(`no type ${name}`))

const CONFIG = [
  'version: 1\napi: { prefix: "" }',
  'models:',
  ...TYPES.map(
    ({ name }) =>
      `  ${name}s:\n    fields:\n      id: { type: integer, primary_key: true }\n      value: { type: ${name}, nullable: true }`,
  ),
  'resources:',
  ...TYPES.map(
    (type) =>
      `  ${type.name}s: { model: ${type.name}s, path: /${type.name}s/, filterable: { value: [${lookupsOfType(type)
        .map(({ name }) => name)
        .join(', ')}] } }`,
  ),
  '',
].join('\n')

/** The operands that a lookup is compared with. */
const operands = (name: string, texts: readonly string[]): readonly (readonly string[])[] => {
  if (name === 'isnull') return [['true'], ['false']]
  if (name === 'range') return texts.flatMap((first) => texts.map((last) => [first, last]))
  if (name === 'in' || name === 'not_in') return [texts.slice(0, 1), texts.slice(-2), texts]
  return texts.map((text) => [text])
}

const joined = (texts: readonly string[]) =>
  texts.length === 1 ? texts[0] : texts.map((text) => text.replaceAll(/[\\,]/g, '\\$&')).join(',')

describe('a lookup in memory', () => {
  let api: Api

  beforeAll(async () => {
    api = await startApi(CONFIG)
    for (const [name, { stored }] of Object.entries(VALUES)) {
      for (const text of stored) {
        const value = text === null ? 'null' : /integer|bigint|boolean/.test(name) ? text : JSON.stringify(text)
        const body = `{"value": ${value}}`
        const headers = { 'content-type': 'application/json' }
        const { status } = await api.fetch(`/${name}s/`, { method: 'POST', headers, body })
        expect({ body, status }).toEqual({ body, status: 201 })
      }
    }
  })
  afterAll(() => api.close())

  const cases = TYPES.flatMap((type) => lookupsOfType(type).map(({ name }) => [type.name, name] as const))

  test.each(cases)('%s %s finds the records that the database finds', async (typeName, name) => {
    const type = TYPES.find((each) => each.name === typeName) ?? fail(typeName)
    const lookup = lookupOfType(type, name) ?? fail(name)
    const { stored, texts = [] } = VALUES[typeName] ?? fail(typeName)
    const field = { type, options: {} } as unknown as FieldSpec
    const known = stored.flatMap((text) => text ?? [])
    for (const wanted of operands(name, [...known, ...texts])) {
      const query = new URLSearchParams({ [parameterOf('value', lookup)]: joined(wanted) ?? '', page_size: '100' })
      const found = await api.fetch(`/${typeName}s/?${String(query)}`)
      expect({ wanted, status: found.status }).toEqual({ wanted, status: 200 })
      const records = (await found.json()) as readonly { readonly id: number }[]
      const ids = records.map(({ id }) => id - 1)
      const decided = stored.flatMap((text, at) => (compareValue(field, lookup, text, wanted) ? [at] : []))
      expect({ wanted, ids: ids.toSorted((a, b) => a - b) }).toEqual({ wanted, ids: decided })
    }
  })

  test('is unknown only for lists, whose items the database compares', () => {
    const unknown = LOOKUPS.filter(({ holds }) => holds === 'unknown').map(({ name }) => name)
    expect(unknown).toEqual(['has', 'contains', 'overlaps'])
    const tested = new Set(cases.map(([, name]) => name))
    expect(LOOKUPS.filter(({ name, holds }) => holds !== 'unknown' && !tested.has(name))).toEqual([])
  })
})
