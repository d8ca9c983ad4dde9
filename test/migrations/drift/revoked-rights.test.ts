import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { createDriftGate } from '../../../src/health/drift.js'
import type { LogEntry } from '../../../src/http/log.js'
import type { Plugin } from '../../../src/index.js'
import { schemasOfModels } from '../../../src/migrations/introspect/update.js'
import { liveTables } from '../../../src/migrations/drift/misfits.js'
import { missingRights } from '../../../src/migrations/drift/rights.js'
import type { IsReplaced } from '../../../src/migrations/drift/revoked-rights.js'
import { unmanagedTableDifferences } from '../../../src/migrations/drift/unmanaged-tables.js'
import { findLacks, tablesOf } from '../../../src/migrations/drift/verify.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../../support/database.js'
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

const tables = (isReplaced: IsReplaced = () => false) => liveTables(specOf(YAML), clerk, isReplaced)
const misfits = async (isReplaced?: IsReplaced) => {
  const { unreadable, unwritable, ...columns } = await tables(isReplaced).misfits()
  expect(columns).toEqual({ unserved: new Map(), closed: new Map() })
  return { unreadable: Object.fromEntries(unreadable), unwritable: Object.fromEntries(unwritable) }
}
const mayNot = (verb: string, right: string) => [
  `the role ${ROLE} may not ${verb} (as the owner: grant ${right} on "books" to "${ROLE}")`,
]

test.each([
  [
    'select, insert',
    { unreadable: { books: mayNot('read it', 'select') }, unwritable: { books: mayNot('add rows', 'insert') } },
  ],
  ['select', { unreadable: { books: mayNot('read it', 'select') }, unwritable: {} }],
  ['insert', { unreadable: {}, unwritable: { books: mayNot('add rows', 'insert') } }],
  [
    'update, delete',
    {
      unreadable: {},
      unwritable: { books: [...mayNot('update rows', 'update'), ...mayNot('delete rows', 'delete')] },
    },
  ],
])('finds revoked rights: %s', async (rights, expected) => {
  const before = await tables().digest()
  expect(await misfits()).toEqual({ unreadable: {}, unwritable: {} })
  await asOwner(`revoke ${rights} on books from ${ROLE}`)
  expect(await misfits()).toEqual(expected)
  expect(await tables().digest()).not.toBe(before)
})

test('rights on some columns suffice, and a read-only resource needs no right to change rows', async () => {
  await asOwner(
    `revoke all on books from ${ROLE}; grant select (id), insert (id), update (id), delete on books to ${ROLE}`,
  )
  expect(await misfits()).toEqual({ unreadable: {}, unwritable: {} })
})

test('finds a schema that the role may not use, first of all', async () => {
  await asOwner(`create schema sales; create table sales.books (id bigint primary key)`)
  const spec = specOf(YAML.replace('table: books', 'table: sales.books'))
  const unreadable = async () => [...(await liveTables(spec, clerk, () => false).misfits()).unreadable]
  const lacks = (verb: string, granted: string) => [
    ['sales.books', [`the role ${ROLE} may not ${verb} (as the owner: grant ${granted} to "${ROLE}")`]],
  ]
  const USAGE = 'usage on schema "sales"'
  const SELECT = 'select on "sales"."books"'
  expect(await unreadable()).toEqual(lacks('use its schema', USAGE))
  await asOwner(`grant ${SELECT} to ${ROLE}`)
  expect(await unreadable()).toEqual(lacks('use its schema', USAGE))
  await asOwner(`grant ${USAGE} to ${ROLE}; revoke ${SELECT} from ${ROLE}`)
  expect(await unreadable()).toEqual(lacks('read it', SELECT))
  await asOwner(`grant ${SELECT} to ${ROLE}`)
  expect(await unreadable()).toEqual([])
  await asOwner('drop schema sales cascade')
})

test.each(['public', 'Sales "x", y'])(
  'finds tables in a schema of the search path that the role may not use: %s',
  async (schema) => {
    const quoted = `"${schema.replaceAll('"', '""')}"`
    const spec = specOf(YAML.replace('table: books', 'table: invoices').replace('table: authors', 'table: lost'))
    await asOwner(`create schema if not exists ${quoted}; create table ${quoted}.invoices (id bigint)`)
    await asOwner(`revoke usage on schema ${quoted} from ${ROLE}, public`)
    const found = await clerk.transaction(async (connection) => {
      await connection.query({ text: `set local search_path = "$user", information_schema, ${quoted}`, values: [] })
      return {
        gaps: await findLacks(tablesOf(spec), connection),
        advice: await unmanagedTableDifferences(spec, connection),
      }
    })
    await asOwner(`drop table ${quoted}.invoices; grant usage on schema ${quoted} to ${ROLE}, public`)
    const grant = `as the owner: grant usage on schema ${quoted} to "${ROLE}"`
    const reason = `table or view invoices is in the schema ${schema}, which the role ${ROLE} may not use (${grant})`
    expect(found.gaps).toMatchObject([{ text: reason, breaks: true }, { text: 'table or view lost is missing' }])
    expect(found.advice).toMatchObject([
      { message: reason, help: [] },
      { help: [expect.stringContaining('remove the model'), expect.anything()] },
    ])
  },
)

test('finds a closed schema even if only `pg_temp` is left in the search path, and the role may not create temporary tables', async () => {
  const onTemporary = (change: string) => `do $$ begin execute format('${change}', current_database()); end $$`
  await asOwner(
    `${onTemporary('revoke temporary on database %I from public')}; revoke usage on schema public from ${ROLE}, public`,
  )
  const found = await clerk
    .transaction(async (connection) => {
      await connection.query({ text: 'set local search_path = public, pg_temp', values: [] })
      const rights = await missingRights(specOf(YAML), connection)
      const gaps = await findLacks(tablesOf(specOf(YAML)), connection)
      const schemas = await schemasOfModels(connection, specOf(YAML.replace('table: books', 'table: other.books')))
      return { rights, gaps, schemas }
    })
    .finally(() =>
      asOwner(
        `${onTemporary('grant temporary on database %I to public')}; grant usage on schema public to ${ROLE}, public`,
      ),
    )
  expect(found.rights).toMatchObject([
    { message: `the role ${ROLE} may use none of the schemas of its search_path: public` },
  ])
  expect(found.schemas).toEqual(['other', ''])
  expect(found.gaps.map(({ text }) => text)).toEqual(
    ['books', 'authors'].map(
      (table) =>
        `table or view ${table} is in the schema public, which the role ${ROLE} may not use (as the owner: grant usage on schema "public" to "${ROLE}")`,
    ),
  )
})

test('operations that a plugin replaces need no rights', async () => {
  await asOwner(`revoke all on books from ${ROLE}`)
  const OPERATIONS = ['list', 'retrieve', 'create', 'update', 'partial_update', 'destroy']
  const allBut = (...kept: readonly string[]) =>
    misfits(({ name }, operation) => name === 'book' && OPERATIONS.includes(operation) && !kept.includes(operation))
  const unreadable = { books: mayNot('read it', 'select') }
  expect(await allBut()).toEqual({ unreadable: {}, unwritable: {} })
  expect(await allBut('list')).toEqual({ unreadable, unwritable: {} })
  // A change returns the record.
  expect(await allBut('create')).toEqual({ unreadable, unwritable: { books: mayNot('add rows', 'insert') } })
  expect(await allBut('update')).toEqual({ unreadable, unwritable: { books: mayNot('update rows', 'update') } })
  expect(await allBut('destroy')).toEqual({ unreadable, unwritable: { books: mayNot('delete rows', 'delete') } })
})

test('a resource whose operations are all replaced is not reported', async () => {
  const yaml = YAML.replace('path: /books/', 'path: /books/, operations: [list]')
  const plugin: Plugin = (app) =>
    app.replace('book', 'list', () => ({ status: 200, body: { count: 0, next: null, previous: null, results: [] } }))
  const own = await startApi(`${yaml}plugins: [./plugin.mjs]\n`, { database: clerk, plugin })
  await asOwner(`revoke all on books, authors from ${ROLE}`)
  expect((await own.fetch('/authors/')).status).toBe(503)
  await waitUntil(() => own.logged.some(({ event }) => event === 'schema_drift'))
  expect(own.logged.filter(({ event }) => event === 'schema_drift')).toMatchObject([{ table: 'authors' }])
  expect((await own.fetch('/books/')).status).toBe(200)
  await asOwner(`grant select on authors to ${ROLE}`)
  await own.close()
})

/** Counts the checks of a gate, which begins with one. */
function watchedGate() {
  const live = tables()
  const counts = { digests: 0, comparisons: 0 }
  const logged: LogEntry[] = []
  const add = (entry: LogEntry) => void logged.push(entry)
  const gate = createDriftGate({
    tables: {
      ...live,
      digest: () => {
        counts.digests += 1
        return live.digest()
      },
      misfits: () => {
        counts.comparisons += 1
        return live.misfits()
      },
    },
    log: { info: add, error: add },
    onAltered: () => {},
    interval: Infinity,
  })
  gate.suspect(true)
  return { gate, counts, events: () => logged.map(({ event }) => event) }
}

const MORE_THAN_ONE_CHECK = 2_500

test('a role that may only read does not count as drift, is logged once, and is not checked more often', async () => {
  await asOwner(`revoke insert on books from ${ROLE}`)
  const { gate, counts, events } = watchedGate()
  await waitUntil(() => events().length > 0)
  await delay(MORE_THAN_ONE_CHECK)
  expect(counts.comparisons).toBe(1)
  expect(counts.digests).toBeLessThanOrEqual(2)
  expect([gate.unserved(), gate.drifted()]).toEqual([[], []])
  expect(events()).toEqual(['changes_denied'])
  gate.close()
})

test('an unreadable table is compared once, until a grant', async () => {
  await asOwner(`revoke select on books from ${ROLE}`)
  const { gate, counts, events } = watchedGate()
  await waitUntil(() => gate.unserved().includes('books'))
  await delay(MORE_THAN_ONE_CHECK)
  expect(counts.comparisons).toBe(1)
  expect(counts.digests).toBeGreaterThan(2)
  await asOwner(`grant select on books to ${ROLE}`)
  await waitUntil(() => gate.unserved().length === 0)
  expect(events()).toEqual(['schema_drift', 'schema_fits'])
  expect(gate.drifted()).toEqual([])
  gate.close()
})

test('creates of a role that may only read are 503, and the log has the reason once', async () => {
  const own = await startApi(YAML, { database: clerk })
  await asOwner(`revoke insert on books from ${ROLE}`)
  for (const id of [1, 2]) expect((await own.send('POST', '/books/', { id })).status).toBe(503)
  await waitUntil(() => own.logged.some(({ event }) => event === 'changes_denied'))
  await delay(MORE_THAN_ONE_CHECK)
  expect((await own.fetch('/books/')).status).toBe(200)
  expect(own.logged.filter(({ event }) => !['failure', 'request'].includes(event))).toMatchObject([
    {
      event: 'changes_denied',
      msg: `some requests that change the table books return 503: ${mayNot('add rows', 'insert').join()}`,
    },
  ])
  await own.close()
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

test('requests for a table that may not be read do not repeat the comparison of all tables', async () => {
  const { watched, sent } = watchDatabase(clerk)
  const own = await startApi(YAML, { database: watched })
  await asOwner(`revoke select on books from ${ROLE}`)
  const comparisons = () =>
    sent.filter(({ text }) => text.includes('select current_user, ') && text.includes('has_any_column_privilege'))
      .length
  const request = async () => (await own.fetch('/books/')).status
  await waitUntil(async () => (await request()) === 503 && own.logged.some(({ event }) => event === 'schema_drift'))
  const before = comparisons()
  expect(before).toBeGreaterThan(0)
  const until = performance.now() + MORE_THAN_ONE_CHECK
  while (performance.now() < until) {
    expect(await request()).toBe(503)
    await delay(50)
  }
  expect(comparisons()).toBe(before)
  await own.close()
})
