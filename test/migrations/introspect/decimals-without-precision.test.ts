import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder } from '../../support/migrations.js'

let database: TestDatabase
let folder: string
let yaml: string
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  folder = (await makeFolder()).path
  for (const text of [
    `create table parts (
       id serial primary key,
       weight numeric not null check (weight >= 0.10 and weight <= 99999999999999999999),
       note numeric
     )`,
    'insert into parts (weight, note) values (1.50, 12345678901234567890.123456789), (2, null)',
    'create table rates (rate numeric primary key)',
  ])
    await database.query({ text, values: [] })
  yaml = (await introspect(database, { file: 'resources.yaml', directory: folder })).text
  api = await startApi(yaml, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test('a column numeric is a decimal without precision, with every digit of its bounds', () => {
  expect(yaml).toContain('weight: { type: decimal, minimum: "0.10", maximum: "99999999999999999999" }')
  expect(yaml).toMatch(/note: +\{ type: decimal, nullable: true \}/)
})

test('values are returned as they are stored, and sent back unchanged', async () => {
  const records = [
    { id: 1, weight: '1.50', note: '12345678901234567890.123456789' },
    { id: 2, weight: '2', note: null },
  ]
  expect(await (await api.fetch('/api/parts/')).json()).toMatchObject(records)
  for (const record of records) {
    const replaced = await api.send('PUT', `/api/parts/${record.id}/`, record)
    expect([replaced.status, await replaced.json()]).toEqual([200, record])
  }
  const created = await api.send('POST', '/api/parts/', { weight: '0.1000' })
  expect([created.status, await created.json()]).toEqual([201, { id: 3, weight: '0.1000', note: null }])
})

test.each([
  { what: 'an integer', digits: '9'.repeat(1000), more: '9'.repeat(1001) },
  { what: 'a fraction', digits: `-0.${'9'.repeat(1000)}`, more: `-0.${'9'.repeat(1001)}` },
  { what: 'a number', digits: `-9.${'9'.repeat(999)}`, more: `-9.${'9'.repeat(1000)}` },
])('$what has up to 1000 digits', async ({ digits, more }) => {
  const sent = async (note: string) => {
    const answer = await api.send('PATCH', '/api/parts/2/', { note })
    return [answer.status, await answer.json()]
  }
  expect(await sent(digits)).toMatchObject([200, { note: digits }])
  expect(await sent(more)).toMatchObject([400, { errors: { note: 'Note must have at most 1000 digits' } }])
  await sent('1')
})

test('bounds are compared exactly', async () => {
  for (const weight of ['0.0999', '99999999999999999999.0001']) {
    const answer = await api.send('POST', '/api/parts/', { weight })
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { errors: { weight: 'Weight must be between 0.10 and 99999999999999999999' } },
    ])
  }
})

test('such a column cannot be a key, because equal numbers have several spellings', () => {
  expect(yaml).toMatch(/rates:\n +primary_key: none/)
  expect(() => specOf('version: 1\nmodels: { a: { fields: { id: { type: decimal, primary_key: true } } } }')).toThrow(
    'a field of the type `decimal` cannot be a primary key: equal values can have several spellings',
  )
})

test('`precision` and `scale` come together', () => {
  const fields = '{ id: { type: integer, primary_key: true }, b: { type: decimal, scale: 2 } }'
  expect(() => specOf(`version: 1\nmodels: { a: { fields: ${fields} } }`)).toThrow(
    '`scale` needs `precision` as well; without both, values have up to 1000 digits',
  )
})

const planned = async (from: string, to: string) => {
  const model = (type: string) =>
    `version: 1\nmodels: { part: { table: parts, fields: { id: { type: integer, primary_key: true }, weight: ${type} } } }`
  const target = await makeFolder()
  const scratch = await openTestDatabase('')
  try {
    const first = await planMigration(specOf(model(from)), target.path, scratch)
    await target.write('0001_parts.sql', first.text ?? '')
    return (await planMigration(specOf(model(to)), target.path, scratch)).steps.map(({ detail, safety }) => [
      detail,
      safety,
    ])
  } finally {
    await scratch.close()
  }
}

test('a plan to more digits changes no row, and one to fewer looks at every row', async () => {
  const [exact, any] = ['{ type: decimal, precision: 10, scale: 2 }', '{ type: decimal }']
  expect(await planned(exact, any)).toEqual([['numeric(10,2) -> numeric', 'safe']])
  expect(await planned(any, exact)).toEqual([['numeric -> numeric(10,2)', 'risky']])
})
