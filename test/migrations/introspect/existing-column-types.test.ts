import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Json } from '../../../src/index.js'
import { introspect, type Introspected } from '../../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder } from '../../support/migrations.js'

interface Case {
  readonly column: string
  /** The stored value, in SQL. */
  readonly stored: string
  readonly shown: Json
  /** The field that introspection writes for the column. */
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
  { column: 'real', stored: '0.1', shown: 0.1, field: '{ type: float, bits: 32 }' },
  { column: 'real default 0.1', stored: 'default', shown: 0.1, field: '{ type: float, bits: 32, default: 0.1 }' },
  { column: 'real', stored: '16777217', shown: 16777216, field: '{ type: float, bits: 32 }' },
  { column: 'double precision', stored: '0.1', shown: 0.1, field: '{ type: float }' },
  { column: 'inet', stored: "'10.0.0.1'", shown: '10.0.0.1', field: '{ type: inet }' },
  { column: 'inet', stored: "'::FFFF:10.0.0.1/100'", shown: '::ffff:10.0.0.1/100', field: '{ type: inet }' },
  {
    column: "inet default '10.0.0.1/32'",
    stored: 'default',
    shown: '10.0.0.1',
    field: '{ type: inet, default: "10.0.0.1" }',
  },
  { column: 'cidr', stored: "'10.0.0.0/8'", shown: '10.0.0.0/8', field: '{ type: cidr }' },
  {
    column: "cidr default '2001:db8::/32'",
    stored: 'default',
    shown: '2001:db8::/32',
    field: '{ type: cidr, default: "2001:db8::/32" }',
  },
  {
    column: 'interval',
    stored: "'1 year 14 mons -3 days +04:05:06.5'",
    shown: 'P2Y2M-3DT4H5M6.5S',
    field: '{ type: interval }',
  },
  { column: 'interval', stored: "'-00:00:00.000001'", shown: 'PT-0.000001S', field: '{ type: interval }' },
  {
    column: "interval default '1 day -02:03:04.5'",
    stored: 'default',
    shown: 'P1DT-2H-3M-4.5S',
    field: '{ type: interval, default: "P1DT-2H-3M-4.5S" }',
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
  introspected = await introspect(database, {
    file: 'resources.yaml',
    directory: (await makeFolder()).path,
    manage: true,
    resources: 'none',
  })
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

describe('an existing column of a type that no other field has', () => {
  const COLUMNS = [
    ['tsvector', "'a:1 b:2'", "'a':1 'b':2"],
    ['xml[]', "'{<a/>,NULL}'", '{<a/>,NULL}'],
    ['point', "'1,2'", '(1,2)'],
    ['money[]', "'{1}'", '{$1.00}'],
    ['bit varying(5)', "'101'", '101'],
    ['time(3) with time zone', "'10:00:00+01'", '10:00:00+01'],
    ['int4range', "'[1,3)'", '[1,3)'],
  ] as const
  const values = COLUMNS.map(([, stored]) => stored).join(', ')
  const shown = Object.fromEntries(COLUMNS.map(([, , text], index) => [`c${index}`, text]))
  let others: Introspected
  let served: Api

  beforeAll(async () => {
    const columns = COLUMNS.map(([type], index) => `c${index} ${type}`).join(', ')
    for (const text of [
      `create table odd (id serial primary key, name text not null, ${columns})`,
      `insert into odd (name, ${Object.keys(shown).join(', ')}) values ('a', ${values})`,
      'create table required (id serial primary key, name text not null, place point not null)',
      "insert into required (name, place) values ('a', '1,2')",
      "create table filled (id serial primary key, place point not null default '(1,2)')",
      'create domain money_default as numeric(12, 2) not null default 0',
      'create table charged (id serial primary key, fee money_default)',
    ])
      await database.query({ text, values: [] })
    others = await introspect(database, {
      file: 'resources.yaml',
      directory: (await makeFolder()).path,
      manage: true,
      resources: 'none',
      tables: ['odd', 'required', 'filled', 'charged'],
    })
    served = await startApi(
      `${others.text}
api: { prefix: "" }
resources:
  odd: { model: odd, path: /odd/, filterable: { c0: [isnull] } }
  required: { model: required, path: /required/, operations: [list, retrieve, update, partial_update, destroy] }
`,
      { database },
    )
  })
  afterAll(() => served.close())

  test('is returned as text', async () => {
    expect(others.text).toContain('{ type: opaque, column_type: "xml[]", nullable: true }')
    const record = { id: 1, name: 'a', ...shown }
    expect(await (await served.fetch('/odd/?c0__isnull=false')).json()).toEqual([record])
    expect(await (await served.fetch('/odd/?c0__isnull=true')).json()).toEqual([])
  })

  test('is unchanged by a PUT of the returned record, and by other values in it', async () => {
    const record = { id: 1, name: 'a', ...shown }
    for (const body of [record, { ...record, c0: 'other', c2: null }]) {
      const replaced = await served.send('PUT', '/odd/1/', body)
      expect([replaced.status, await replaced.json()]).toEqual([200, record])
    }
    const created = await served.send('POST', '/odd/', { name: 'b', c1: '{b}' })
    expect([created.status, await created.json()]).toMatchObject([201, { name: 'b', c1: null }])
  })

  test('does not cost its table the model: records are changed, and the report says why none are created', async () => {
    expect(others.left).toContain(
      'required: no request can create records: place is not null and has no default, and no request can set values of type point; nothing can be added while migrations create the table',
    )
    expect(await (await served.fetch('/required/')).json()).toEqual([{ id: 1, name: 'a', place: '(1,2)' }])
    const changed = await served.send('PATCH', '/required/1/', { name: 'b' })
    expect([changed.status, await changed.json()]).toEqual([200, { id: 1, name: 'b', place: '(1,2)' }])
  })

  test('has no field if it is not null and has a default, so that records can be created', () => {
    expect(others.left).toContain(
      'filled.place: no field: no field has the type point; nothing can be added while migrations create the table: the column stays as it is',
    )
    expect(others.left).toContainEqual(
      expect.stringMatching(/^charged\.fee: no field: no field has the type money_default; /),
    )
    expect(others.left).not.toContainEqual(expect.stringMatching(/^(?:filled|charged): no request can create records/))
  })

  test('needs no migration', () => {
    expect(others.remaining).toEqual([])
  })
})

test('existing columns need no migration', () => {
  expect(introspected.remaining).toEqual([])
})

test('a default of the current time is reported where it depends on the time zone', async () => {
  await database.query({ text: 'create table visits (id serial primary key, at timestamp default now())', values: [] })
  const { text, left } = await introspect(database, {
    file: 'resources.yaml',
    directory: (await makeFolder()).path,
    manage: true,
    resources: 'none',
    tables: ['visits'],
  })
  expect(text).toContain('at: { type: local_timestamp, nullable: true, default: { function: now } }')
  expect(left).toContain(
    'visits.at: its default now() is the time in UTC for this service, and in the time zone of the session for other programs',
  )
})
