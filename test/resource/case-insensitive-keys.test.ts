import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { runSql } from '../support/existing.js'

/** The embedded database has no collations of ICU. */
const isServer = testDatabaseKind() === 'postgres'
const TYPE = isServer ? 'text collate nocase' : 'citext'

const YAML = `
version: 1
database: { managed: false }
models:
  shelf:
    table: shelves
    fields:
      code: { type: text, primary_key: true${isServer ? ', collation: nocase' : ''} }
      name: { type: text }
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true, key: client }
      shelf: { type: belongs_to, model: shelf, column: shelf, nullable: true }
resources:
  shelf: { model: shelf, path: /shelves/, url: true, bulk: [partial_update, destroy] }
  book: { model: book, path: /books/, expand: [shelf], links: { shelf: shelf-detail } }
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  const sql = isServer
    ? `create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);`
    : 'create extension citext;'
  await runSql(
    database,
    `${sql}
     create table shelves (code ${TYPE} primary key, name text not null);
     create table books (id integer primary key, shelf ${TYPE} references shelves);
     insert into shelves values ('Main', 'a');
     insert into books values (1, 'MAIN');`,
  )
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test('any spelling finds a record, whose response, ETag and links have the stored one', async () => {
  const [stored, other] = await Promise.all(['/api/shelves/Main/', '/api/shelves/MAIN/'].map((path) => api.fetch(path)))
  expect(other?.status).toBe(200)
  expect(other?.headers.get('etag')).toBe(stored?.headers.get('etag'))
  expect(await other?.json()).toEqual({ url: '/api/shelves/Main/', code: 'Main', name: 'a' })
})

test('a relation in another spelling shows the record in the stored one', async () => {
  expect(await (await api.fetch('/api/books/1/?expand=shelf')).json()).toEqual({
    id: 1,
    shelf: '/api/shelves/MAIN/',
    expanded: { shelf: { url: '/api/shelves/Main/', code: 'Main', name: 'a' } },
  })
})

test('a change repeats the key as the path spells it, and never stores another spelling', async () => {
  const path = '/api/shelves/MAIN/'
  const rejected = await api.send('PUT', path, { code: 'Main', name: 'b' })
  expect([rejected.status, await rejected.json()]).toMatchObject([
    400,
    { errors: { code: "Code is part of the record's address and cannot be changed" } },
  ])
  const changed = await api.send('PUT', path, { code: 'MAIN', name: 'b' })
  expect([changed.status, await changed.json()]).toEqual([200, { url: '/api/shelves/Main/', code: 'Main', name: 'b' }])
})

test('a key that differs only in case is taken', async () => {
  expect((await api.send('POST', '/api/shelves/', { code: 'main', name: 'c' })).status).toBe(409)
})

test.each([
  {
    method: 'PATCH',
    path: '/api/shelves/',
    body: [
      { code: 'Main', name: 'x' },
      { code: 'MAIN', name: 'y' },
    ],
    problem: { type: '/problems/validation', errors: { '1.code': 'Code is the same as in item 0' } },
  },
  {
    method: 'DELETE',
    path: '/api/shelves/?ids=MAIN,main',
    body: undefined,
    problem: { type: '/problems/invalid-query', detail: 'the parameter ids names `main` twice' },
  },
])(
  'a bulk request that names a record in two spellings is invalid: $method',
  async ({ method, path, body, problem }) => {
    const response = await api.send(method, path, body)
    expect([response.status, await response.json()]).toMatchObject([400, problem])
    expect(await (await api.fetch('/api/shelves/Main/')).json()).toMatchObject({ code: 'Main' })
  },
)

test('bulk requests find records by any spelling', async () => {
  await runSql(database, `insert into shelves values ('Low', 'l'), ('High', 'h')`)
  const changed = await api.send('PATCH', '/api/shelves/', [{ code: 'LOW', name: 'm' }])
  expect([changed.status, await changed.json()]).toEqual([200, [{ url: '/api/shelves/Low/', code: 'Low', name: 'm' }]])
  const missing = await api.fetch('/api/shelves/?ids=LOW,none', { method: 'DELETE' })
  expect([missing.status, await missing.json()]).toEqual([
    404,
    expect.objectContaining({ errors: { '1.code': 'Code does not exist' } }),
  ])
  expect((await api.fetch('/api/shelves/?ids=LOW,high', { method: 'DELETE' })).status).toBe(204)
  expect((await api.fetch('/api/shelves/Low/')).status).toBe(404)
})
