import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import pg from 'pg'
import type { Hooks, Plugin } from '../../../src/index.js'
import { type Database, openDatabase } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { createNaps, type Naps } from '../../support/naps.js'
import { problemOf } from '../../support/problems.js'
import { waitUntil } from '../../support/wait-until.js'

const CONFIG = `
version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
resources:
  book: { model: book, path: /books/, idempotency: optional, bulk: [create, partial_update, destroy] }
  hooked: { model: book, path: /hooked/, idempotency: optional }
plugins: [./plugin.mjs]
`

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip

const afterCreate = jest.fn<NonNullable<Hooks['afterCreate']>>()

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.hooks('hooked', { afterCreate })
  app.action('book', 'rename', {
    summary: 'Rename a book',
    handle: async ({ context, id }) => void (await context.store(books).update(id, { title: 'new' })),
  })
  app.route('POST', '/two/', 'two', async (context) => {
    await context.store(books).create({ title: 'first' })
    await context.transaction(async ({ store }) => {
      await store(books).create({ title: 'second' })
      await afterCreate({} as never)
    })
    return { status: 204 }
  })
}

/** Stands between the service and its database, and breaks every connection when it is told to. */
interface Cut {
  readonly port: number
  now(): void
  /** Keeps new connections waiting until the returned function is called. */
  hold(): () => void
  close(): Promise<unknown>
}

async function startCut(url: string): Promise<Cut> {
  const { host, port } = new pg.Client({ connectionString: url })
  const sockets = new Set<Socket>()
  let ready = Promise.resolve()
  const accept = (client: Socket) => {
    const there = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    for (const socket of [client, there]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(there)
    there.pipe(client)
  }
  const server = createServer((client) => void ready.then(() => accept(client)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const now = () => {
    for (const socket of sockets) socket.destroy()
  }
  const close = async () => {
    now()
    server.close()
    await once(server, 'close')
  }
  const hold = () => {
    let release = () => {}
    ready = new Promise((resolve) => (release = resolve))
    return release
  }
  return { port: (server.address() as AddressInfo).port, now, hold, close }
}

describeWithSessions('when the connection to the database breaks', () => {
  let admin: TestDatabase
  let naps: Naps
  let cut: Cut
  let database: Database
  let api: Api
  const open = (pool: string) => {
    const { username, pathname } = new URL(admin.url ?? '')
    const url = `postgres://${username}@127.0.0.1:${cut.port}${pathname}`
    return openDatabase({ url, directory: '' }, { DATABASE_POOL: pool })
  }
  beforeAll(async () => {
    admin = await openTestDatabase()
    cut = await startCut(admin.url ?? '')
    database = await open('2')
    api = await startApi(CONFIG, { plugin, database })
    await sql(ddlOf(specOf(CONFIG)))
    naps = await createNaps(admin)
    await sql(
      `create function nap_at_commit() returns trigger language plpgsql as $$ begin perform nap(); return null; end $$;`,
    )
  })
  afterAll(async () => {
    await api.close()
    await database.close()
    await cut.close()
    await admin.close()
  })
  beforeEach(async () => {
    jest.resetAllMocks()
    await sql(`truncate books, snippetctl_answers restart identity; insert into books (title) values ('old')`)
  })
  afterEach(async () => {
    await naps.end()
    await sql('drop trigger if exists nap on books')
  })

  const sql = (text: string) => admin.query({ text, values: [] })
  const titles = async () => (await sql('select title from books order by id')).rows.flat()
  /** Has every change sleep while it is being committed. */
  const sleepAtCommit = async () => {
    await naps.begin()
    await sql(`create constraint trigger nap after insert or update or delete on books deferrable initially deferred
               for each row execute function nap_at_commit()`)
  }
  const asleep = `select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  const committing = () => waitUntil(async () => (await sql(asleep)).rows.length > 0)
  // The change is visible once its transaction has no id any more, which is some time after its trigger has slept.
  const changing = `select 1 from pg_stat_activity where backend_xid is not null and datname = current_database()`
  const committed = async () => {
    await naps.end()
    await waitUntil(async () => (await sql(changing)).rows.length === 0)
  }
  const UNKNOWN = [504, 'outcome-unknown', null]
  const UNDONE = [503, 'unavailable', '1']

  test.each([
    ['POST', '/books/', { title: 'new' }, ['old', 'new']],
    ['POST', '/books/', [{ title: 'new' }], ['old', 'new']],
    ['POST', '/hooked/', { title: 'new' }, ['old', 'new']],
    ['PUT', '/books/1/', { title: 'new' }, ['new']],
    ['PATCH', '/books/1/', { title: 'new' }, ['new']],
    ['PATCH', '/books/', [{ id: 1, title: 'new' }], ['new']],
    ['POST', '/books/1/rename/', undefined, ['new']],
    ['DELETE', '/books/1/', undefined, []],
    ['DELETE', '/books/?ids=1', undefined, []],
  ] as const)('while %s %s with %j is committed, its outcome is unknown', async (method, path, body, after) => {
    await sleepAtCommit()
    const asked = body ? api.send(method, `/api${path}`, body) : api.fetch(`/api${path}`, { method })
    await committing()
    cut.now()
    expect(await problemOf(await asked)).toEqual(UNKNOWN)
    await committed()
    expect(await titles()).toEqual(after)
  })

  test.each(['/books/', '/hooked/'])('to %s, the same Idempotency-Key reveals the outcome', async (path) => {
    await sleepAtCommit()
    const send = () => api.send('POST', `/api${path}`, { title: 'new' }, { 'idempotency-key': 'k1' })
    const asked = send()
    await committing()
    cut.now()
    expect(await problemOf(await asked)).toEqual(UNKNOWN)
    await committed()
    const again = await send()
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(await titles()).toEqual(['old', 'new'])
  })

  test('before a commit nothing is stored, and the same Idempotency-Key can be retried', async () => {
    afterCreate.mockImplementationOnce(() => cut.now())
    const send = () => api.send('POST', '/api/hooked/', { title: 'new' }, { 'idempotency-key': 'k2' })
    expect(await problemOf(await send())).toEqual(UNDONE)
    expect(await titles()).toEqual(['old'])
    const again = await send()
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null])
    expect(await titles()).toEqual(['old', 'new'])
  })

  test('after a partial write, the response does not claim that nothing was stored', async () => {
    afterCreate.mockImplementationOnce(() => cut.now())
    expect(await problemOf(await api.fetch('/api/two/', { method: 'POST' }))).toEqual(UNKNOWN)
    expect(await titles()).toEqual(['old', 'first'])
  })

  test('a change that was given up while its connection was made is not sent', async () => {
    const release = cut.hold()
    const single = await open('1')
    const giving = new AbortController()
    const late = "insert into books (title) values ('late')"
    const asked = single.query({ text: late, values: [], signal: giving.signal })
    const reason = new Error('too late')
    giving.abort(reason)
    await expect(asked).rejects.toBe(reason)
    release()
    // It uses the same connection, after the change would have.
    await single.query({ text: 'select 1', values: [] })
    expect(await titles()).toEqual(['old'])
    await single.close()
  })
})
