import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const FIELDS = 'fields: { id: { type: bigint, primary_key: true, key: client }, title: { type: text } }'
const ALL = 'operations: [list, create, retrieve, update, partial_update, destroy], bulk: [create, partial_update]'
const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book: { table: books, ${FIELDS} }
  listed: { table: listed, managed: false, ${FIELDS} }
resources:
  listed: { model: listed, path: /listed/, ${ALL} }
  book: { model: book, path: /books/, ${ALL} }
`

const SQL = `
  create table books (id bigint primary key, title text not null);
  create view listed as select * from books where title <> 'lost';
`

const plugin: Plugin = (app) => {
  const lose = { summary: 'Lose a book', output: 'record' } as const
  for (const name of ['listed', 'book']) app.hooks(name, { afterCreate: () => {}, afterUpdate: () => {} })
  app.use('/books/', async (context, next) => {
    if (context.headers['x-scope']) context.scope('book', [{ field: 'title', lookup: 'in', value: ['Dune', 'Emma'] }])
    return next()
  })
  app.hooks('book', {
    afterUpdate: async ({ context, id, record }) => {
      if (record['title'] === 'Emma') await context.unscopedKnex('books').where({ id }).update({ title: 'lost' })
    },
  })
  app.action('listed', 'lose', {
    ...lose,
    handle: async ({ context, id }) => void (await context.knex('books').where({ id }).update({ title: 'lost' })),
  })
  app.action('book', 'lose', {
    ...lose,
    handle: async ({ context, id }) =>
      void (await context.unscopedKnex('books').where({ id }).update({ title: 'lost' })),
  })
}

let database: TestDatabase
let api: Api
/** Its responses are not compared with the document, which does not know scopes, and in which each new record is returned. */
let unchecked: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  api = await startApi(YAML, { database, plugin })
  unchecked = await startApi(YAML, { database, plugin, checkResponses: false })
})
afterAll(async () => {
  await Promise.all([api.close(), unchecked.close()])
  await database.close()
})
beforeEach(() => runSql(database, "truncate books; insert into books values (1, 'Dune'), (2, 'Walden');"))

const stored = async () =>
  (await database.query({ text: 'select title from books order by id', values: [] })).rows.flat()
const SCOPED = { 'x-scope': 'yes' }

test.each([
  { method: 'PATCH', path: '/listed/1/', body: { title: 'lost' } },
  { method: 'PUT', path: '/listed/1/', body: { title: 'lost' } },
  { method: 'PATCH', path: '/listed/', body: [{ id: 1, title: 'lost' }] },
  { method: 'POST', path: '/listed/1/lose/', body: undefined },
  { method: 'PATCH', path: '/books/1/', body: { title: 'Emma' }, headers: SCOPED },
  { method: 'POST', path: '/books/1/lose/', body: undefined, headers: SCOPED },
])('$method $path stores a change by which the record leaves, and has no body', async (request) => {
  const { method, path, body, headers } = request
  const response = await (headers ? unchecked : api).send(method, path, body, headers)
  expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([204, null, ''])
  expect(await stored()).toEqual(['lost', 'Walden'])
})

test.each([
  { path: '/listed/', body: { id: 3, title: 'lost' }, location: '/listed/3/' },
  { path: '/listed/bulk/', body: [{ id: 3, title: 'lost' }], location: null },
])('a new record that its view does not show is stored by POST $path', async ({ path, body, location }) => {
  const response = await unchecked.send('POST', path, body)
  expect([response.status, response.headers.get('location'), await response.text()]).toEqual([201, location, ''])
  expect(await stored()).toEqual(['Dune', 'Walden', 'lost'])
})
