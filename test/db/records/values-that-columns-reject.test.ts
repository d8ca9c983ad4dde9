import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'

const YAML = `version: 1
database: { managed: false }
models:
  part:
    table: parts
    fields:
      id: { type: bigint, primary_key: true, key: client }
      code: { type: string, max: 5, nullable: true }
      alias: { type: string, max: 5, nullable: true }
      note: { type: string, max: 5, nullable: true, message: A note has small letters }
      secret: { type: string, max: 5, nullable: true, write_only: true }
      mood: { type: choice, choices: [sad, glad], nullable: true }
      size: { type: integer, nullable: true }
      count: { type: bigint, nullable: true }
      rank: { type: integer, nullable: true, default: 1 }
      whole: { type: bigint, nullable: true }
resources:
  part: { model: part, path: /parts/, bulk: [create, partial_update] }
`
const SQL = `
  create domain code as varchar(5) check (value ~ '^[a-z]+$');
  create domain rank as integer not null;
  create type mood as enum ('sad');
  create table parts (
    id bigint primary key, code code, alias code, note code, secret code, mood mood, size smallint, count bigint, rank rank default 1,
    whole bigint references parts);
  insert into parts (id) values (1), (2);
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  api = await startApi(YAML, { database, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const rejected = async (method: string, path: string, body: unknown) => {
  const response = await api.send(method, path, body)
  const { detail, errors } = (await response.json()) as { detail: string; errors?: object }
  return [response.status, detail, errors]
}

test.each([
  { body: { code: 'A1' }, errors: { code: 'Code cannot be stored' } },
  { body: { code: 'ab', alias: 'A1' }, errors: { alias: 'Alias cannot be stored' } },
  { body: { note: 'A1' }, errors: { note: 'A note has small letters' } },
  { body: { secret: 'A1' }, errors: { secret: 'Secret cannot be stored' } },
  { body: { mood: 'glad' }, errors: { mood: 'Mood cannot be stored' } },
  { body: { size: 40000 }, errors: { size: 'Size cannot be stored' } },
  { body: { rank: null, size: 1 }, errors: { rank: 'Rank cannot be stored' } },
  {
    body: { size: 40000, count: 40000 },
    errors: { size: 'Size or Count cannot be stored', count: 'Size or Count cannot be stored' },
  },
])('a value that its column rejects is named: $body', async ({ body, errors }) => {
  const [detail] = Object.values(errors)
  expect(await rejected('POST', '/api/parts/', { id: 9, ...body })).toEqual([400, detail, errors])
  expect(await rejected('PATCH', '/api/parts/1/', body)).toEqual([400, detail, errors])
  const placed = Object.fromEntries(Object.entries(errors).map(([name, message]) => [`1.${name}`, message]))
  const others = [
    { id: 7, code: 'ab', count: 40000 },
    { id: 9, ...body },
    { id: 10, ...body },
  ]
  expect(await rejected('POST', '/api/parts/', others)).toEqual([400, detail, placed])
  const changes = [
    { id: 2, code: 'ab', count: 40000 },
    { id: 1, ...body },
  ]
  expect(await rejected('PATCH', '/api/parts/', changes)).toEqual([400, detail, placed])
})

test.each([
  { rows: [{ id: 7 }, { id: 8, whole: 99 }, { id: 9 }], place: 1 },
  { rows: [{ id: 7, whole: 1 }, { id: 8 }, { id: 9, whole: 99 }], place: 2 },
  {
    rows: [
      { id: 7, whole: 9 },
      { id: 8, whole: 99 },
      { id: 9, whole: 98 },
    ],
    place: 1,
  },
])('a reference to a missing record is named with its place: $place', async ({ rows, place }) => {
  const message = 'Whole names a record that does not exist'
  expect(await rejected('POST', '/api/parts/', rows)).toEqual([409, message, { [`${place}.whole`]: message }])
})
