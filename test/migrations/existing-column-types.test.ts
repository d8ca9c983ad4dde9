import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Json } from '../../src/index.js'
import { introspect, type Introspected } from '../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'

interface Case {
  readonly column: string
  /** The stored value, in SQL. */
  readonly stored: string
  readonly shown: Json
  /** What follows `value:` in the file. */
  readonly field: string
}

const CASES: readonly Case[] = [
  {
    column: 'timestamp',
    stored: "'2024-02-29 02:30:00.25'",
    shown: '2024-02-29T02:30:00.250000',
    field: '{ type: local_timestamp }',
  },
  {
    column: 'timestamp(3)',
    stored: "'2024-02-29 02:30:00.25'",
    shown: '2024-02-29T02:30:00.250000',
    field: '{ type: local_timestamp, precision: 3 }',
  },
  {
    column: "timestamp default '2000-01-01 00:00:00'",
    stored: 'default',
    shown: '2000-01-01T00:00:00.000000',
    field: '{ type: local_timestamp, default: "2000-01-01T00:00:00.000000" }',
  },
]

const tableOf = (index: number): string => `things_${index}`

let database: TestDatabase
let introspected: Introspected
let api: Api

beforeAll(async () => {
  database = await openTestDatabase()
  for (const [index, { column, stored }] of CASES.entries()) {
    const table = tableOf(index)
    await database.query({
      text: `create table ${table} (id serial primary key, value ${column} not null)`,
      values: [],
    })
    await database.query({ text: `insert into ${table} (value) values (${stored})`, values: [] })
  }
  introspected = await introspect(database, { file: 'resources.yaml', directory: (await makeFolder()).path })
  const resources = CASES.map(
    (_, index) =>
      `  ${tableOf(index)}: { model: ${tableOf(index)}, path: /${tableOf(index)}/, filterable: [value], orderable: [value] }`,
  )
  api = await startApi(`${introspected.text}\nresources:\n${resources.join('\n')}\napi: { prefix: "" }\n`, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

describe.each(CASES.map((each, index) => ({ ...each, path: `/${tableOf(index)}/` })))(
  'an existing column $column',
  ({ path, shown, field }) => {
    test('is introspected', () => {
      const declared = introspected.text.split(`  ${path.slice(1, -1)}:\n`)[1]?.split('\n')[2]
      expect(declared?.trim()).toBe(`value: ${field}`)
    })

    test('is returned, found by its value, and unchanged by a PUT of the returned record', async () => {
      const record = { id: 1, value: shown }
      expect(await (await api.fetch(path)).json()).toEqual([record])
      const found = await api.fetch(`${path}?value=${encodeURIComponent(String(shown))}&ordering=value`)
      expect([found.status, await found.json()]).toEqual([200, [record]])
      const replaced = await api.send('PUT', `${path}1/`, record)
      expect([replaced.status, await replaced.json()]).toEqual([200, record])
    })
  },
)

test('existing columns need no migration', () => {
  expect(introspected.remaining).toEqual([])
})

test('a default of the current time is reported where it depends on the time zone', async () => {
  await database.query({ text: 'create table visits (id serial primary key, at timestamp default now())', values: [] })
  const { text, left } = await introspect(database, {
    file: 'resources.yaml',
    directory: (await makeFolder()).path,
    tables: ['visits'],
  })
  expect(text).toContain('at: { type: local_timestamp, nullable: true, default: { function: now } }')
  expect(left).toContain(
    'visits.at: its default now() is the time in UTC for this service, and in the time zone of the session for other programs',
  )
})
