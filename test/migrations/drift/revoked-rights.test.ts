import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { liveTables } from '../../../src/migrations/drift/misfits.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../../support/roles.js'
import { waitUntil } from '../../support/wait-until.js'

const KEY = 'id: { type: bigint, primary_key: true, key: client }'
const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
models:
  book: { table: books, fields: { ${KEY} } }
  author: { table: authors, fields: { ${KEY} } }
resources:
  book: { model: book, path: /books/ }
  author: { model: author, path: /authors/, read_only: true }
`

let database: TestDatabase
let clerk: Database
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(
    database,
    `${CREATE_ROLE}
     create table books (id bigint primary key);
     create table authors (id bigint primary key);
     grant select on authors to ${ROLE}`,
  )
  clerk = await openAsRole(database)
  api = await startApi(YAML, { database: clerk })
})
afterAll(async () => {
  await api.close()
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
})

/** Runs statements as the owner. */
async function asOwner(sql: string): Promise<void> {
  if (clerk === database) await runSql(database, 'reset role')
  await runSql(database, sql)
  if (clerk === database) await runSql(database, `set role ${ROLE}`)
}

beforeEach(() => asOwner(`grant select, insert, update, delete on books to ${ROLE}`))

const tables = () => liveTables(specOf(YAML), clerk)
const misfits = async () => {
  const { unserved, closed } = await tables().misfits()
  return { unserved: Object.fromEntries(unserved), closed: Object.fromEntries(closed) }
}
const mayNot = (verb: string, right: string) => [
  `the role ${ROLE} may not ${verb} (as the owner: grant ${right} on "books" to "${ROLE}")`,
]

test.each([
  [
    'select, insert',
    { unserved: { books: mayNot('read it', 'select') }, closed: { books: mayNot('add rows', 'insert') } },
  ],
  ['select', { unserved: { books: mayNot('read it', 'select') }, closed: {} }],
  ['insert', { unserved: {}, closed: { books: mayNot('add rows', 'insert') } }],
  // Their requests are rejected one by one.
  ['update, delete', { unserved: {}, closed: {} }],
])('finds revoked rights: %s', async (rights, expected) => {
  const before = await tables().digest()
  expect(await misfits()).toEqual({ unserved: {}, closed: {} })
  await asOwner(`revoke ${rights} on books from ${ROLE}`)
  expect(await misfits()).toEqual(expected)
  expect((await tables().digest()) === before).toBe(rights === 'update, delete')
})

test('rights on some columns suffice, and a read-only resource needs no right to add rows', async () => {
  await asOwner(`revoke all on books from ${ROLE}; grant select (id), insert (id) on books to ${ROLE}`)
  expect(await misfits()).toEqual({ unserved: {}, closed: {} })
})

test('requests for a table that may not be read are 503, the log says why, and a grant ends it', async () => {
  const statusOf = async (path: string) => (await api.fetch(path)).status
  const logged = (name: string) => api.logged.find(({ event }) => event === name)
  expect(await statusOf('/books/')).toBe(200)
  await asOwner(`revoke all on books from ${ROLE}`)
  await waitUntil(async () => (await statusOf('/books/')) === 503 && logged('schema_drift'))
  expect(logged('schema_drift')).toMatchObject({ differences: mayNot('read it', 'select') })
  expect(await statusOf('/authors/')).toBe(200)
  await asOwner(`grant all on books to ${ROLE}`)
  await waitUntil(() => logged('schema_fits'))
  expect(await statusOf('/books/')).toBe(200)
})
