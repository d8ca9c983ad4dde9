import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import type { Plugin, Store } from '../../../src/index.js'
import { type Database, openDatabase } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 20 }
resources:
  book: { model: book, path: /books/ }
`

const READS: Readonly<Record<string, (store: Store<unknown>) => Promise<unknown>>> = {
  retrieve: (store) => store.retrieve(1n),
  retrieveMany: (store) => store.retrieveMany([1n]),
  lock: (store) => store.lock(1n),
  lockMany: (store) => store.lockMany([1n]),
}
const WRITES: typeof READS = {
  create: (store) => store.create({ title: 'new' }),
  createMany: (store) => store.createMany([{ title: 'new' }]),
  update: (store) => store.update(1n, { title: 'new' }),
  destroy: (store) => store.destroy(1n),
  destroyMany: (store) => store.destroyMany([1n]),
  take: (store) => store.take(1n),
}

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  for (const [name, use] of Object.entries({ ...READS, ...WRITES })) {
    app.route('POST', `/outside/${name}/`, `outside-${name}`, async (context) => {
      await use(context.store(books))
      return { status: 204 }
    })
    app.route('POST', `/inside/${name}/`, `inside-${name}`, async (context) => {
      await context.transaction((inside) => use(inside.store(books)))
      return { status: 204 }
    })
  }
}

describeWithSessions('when the connection is lost while', () => {
  let admin: TestDatabase
  let database: Database
  let api: Api
  let other: pg.Client
  beforeAll(async () => {
    admin = await openTestDatabase(ddlOf(specOf(YAML)))
    // So few connections that all reads are sent in the same way.
    database = await openDatabase({ url: admin.url, directory: '' }, { DATABASE_POOL: '2' })
    api = await startApi(YAML, { plugin, database, checkResponses: false })
    other = new pg.Client({ connectionString: admin.url })
    await other.connect()
  })
  afterAll(async () => {
    await other.end()
    await api.close()
    await database.close()
    await admin.close()
  })
  // Whatever is sent waits for the table.
  beforeEach(async () => {
    await other.query("truncate book restart identity; insert into book (title) values ('old')")
    await other.query('begin; lock table book in access exclusive mode')
  })
  afterEach(() => other.query('rollback'))

  const send = (path: string) => api.fetch(path, { method: 'POST' })
  /** The session that waits for the table, once there is one; it is an error that there is an answer instead. */
  const waiting = async (asked: Promise<unknown>): Promise<string> => {
    let isAnswered = false
    asked.finally(() => (isAnswered = true)).catch(() => {})
    const text = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return waitUntil(async () => {
      if (isAnswered) throw new Error('it was answered')
      return (await admin.query({ text, values: [] })).rows[0]?.[0] ?? ''
    })
  }
  /** Ends that session. */
  const cut = async (asked: Promise<unknown>): Promise<void> => {
    await admin.query({ text: 'select pg_terminate_backend($1, 5000)', values: [await waiting(asked)] })
  }
  const books = async () => (await other.query('select title from book')).rows

  test.each(Object.keys(READS))('%s is in progress, it is retried', async (name) => {
    const asked = send(`/outside/${name}/`)
    await cut(asked)
    await waiting(asked)
    await other.query('rollback')
    expect((await asked).status).toBe(204)
  })

  test.each(Object.keys(READS))('%s is in progress for the second time, it fails', async (name) => {
    const asked = send(`/outside/${name}/`)
    await cut(asked)
    await cut(asked)
    expect((await asked).status).toBe(503)
  })

  test.each([
    ...Object.keys(READS).map((name) => ['inside', name]),
    ...Object.keys(WRITES).flatMap((name) => [
      ['outside', name],
      ['inside', name],
    ]),
  ])('%s of a transaction %s is in progress, it fails without effect', async (where, name) => {
    const asked = send(`/${where}/${name}/`)
    await cut(asked)
    // The table is still locked: what was sent again would not be answered.
    expect((await asked).status).toBe(503)
    await other.query('rollback')
    expect(await books()).toEqual([{ title: 'old' }])
  })
})
