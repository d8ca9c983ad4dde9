import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import type { Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { type TestDatabase, testDatabaseKind } from '../../support/database.js'
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
      author: { type: belongs_to, model: author, nullable: true }
  author:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 20 }
  letter:
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: string, max: 20 }
      book: { type: belongs_to, model: book, nullable: true }
resources:
  book: { model: book, path: /books/, filterable: { title: [icontains] } }
  author: { model: author, path: /authors/, filterable: { name: [icontains] } }
  letter: { model: letter, path: /letters/ }
`

/** What hooks on letters wait for, and how many wait. */
let hold: { readonly until: Promise<void>; readonly free: () => void }
let held = 0

const plugin: Plugin = (app) => {
  app.hooks('letter', {
    beforeCreate: async () => {
      held += 1
      await hold.until
    },
  })
  app.route('GET', '/books-with-authors/', 'books-with-authors', async (context) => ({
    status: 200,
    body: await context.models.book.query().findByIds([1]).withGraphFetched('author'),
  }))
  app.route('GET', '/letters-with-books/', 'letters-with-books', async (context) => ({
    status: 200,
    body: await context.models.letter.query().findByIds([1]).withGraphFetched('book'),
  }))
}

const MANY = 200
/** Of the ten connections, quick reads have three. */
const POOL = 7

describeWithSessions('connections are shared', () => {
  let api: Api
  let other: pg.Client
  beforeAll(async () => {
    api = await startApi(YAML, { plugin })
    other = new pg.Client({ connectionString: (api.database as TestDatabase).url })
    await other.connect()
  })
  afterAll(async () => {
    await other.end()
    await api.close()
  })
  beforeEach(async () => {
    await other.query("set lock_timeout = '1s'; truncate book, author, letter restart identity")
    await other.query("insert into book (title) values ('first'), ('second')")
  })

  const create = (path: string, body: object) => api.send('POST', path, body)
  const statuses = async (answers: readonly Promise<Response>[]) =>
    new Set((await Promise.all(answers)).map(({ status }) => status))
  const times = <T>(count: number, make: (at: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, at) => make(at))
  /** Resolves when each request waits for a connection or is answered, except for those that have one: at most `connected()`. */
  const untilWaiting = async (requests: readonly Promise<Response>[], connected = () => POOL): Promise<void> => {
    let answered = 0
    for (const request of requests) void request.then(() => (answered += 1))
    await waitUntil(() => connected() + api.database.usage().waiting + answered >= requests.length)
  }
  /** Waits longer than one request may wait for a connection. */
  const createPatiently = (path: string, body: object): Promise<Response> =>
    waitUntil(
      () => create(path, body),
      ({ status }) => status !== 503,
    )

  /** Uses another resource, as clients that should not notice the load: creates, lists and retrieves records. */
  async function useOthers(path: string, body: object): Promise<readonly number[]> {
    const found: number[] = []
    for (let at = 0; at < 5; at++) {
      found.push((await create(path, body)).status)
      found.push((await api.fetch(path)).status)
      found.push((await api.fetch(`${path}1/`)).status)
    }
    return found
  }
  const FINE = times(5, () => [201, 200, 200]).flat()

  test('for a locked row: 200 clients that update it wait on one connection', async () => {
    await other.query('begin; select from book where id = 1 for update')
    const writers = times(MANY, (at) => api.send('PATCH', '/books/1/', { title: `t${at}` }))
    await untilWaiting(writers, () => 1)
    const findBlocked = () =>
      other.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
    // One that waits too long gives way to the next.
    const blocked = await waitUntil(findBlocked, ({ rowCount }) => rowCount !== 0)
    const answers = await Promise.all([
      useOthers('/authors/', { name: 'a' }),
      statuses(times(10, () => create('/books/', { title: 'b' }))),
      statuses([api.send('PATCH', '/books/2/', { title: 'c' })]),
    ])
    await other.query('rollback')
    const changed = await statuses(writers)
    expect(blocked.rowCount).toBe(1)
    expect(answers).toEqual([FINE, new Set([201]), new Set([200])])
    // Clients that waited too long get 503, and may retry.
    expect([...changed].every((status) => status === 200 || status === 503)).toBe(true)
  })

  test('for a locked table, with requests of every kind', async () => {
    const { rejected } = api.database.usage()
    await other.query('begin; lock table book in access exclusive mode')
    const creates = times(MANY, (at) => create('/books/', { title: `t${at}` }))
    const lists = times(MANY, (at) => api.fetch(`/books/?title__icontains=${'x'.repeat(1 + (at % 7))}`))
    // Lists of unknown length are read one after another.
    await untilWaiting(creates)
    const answers = await useOthers('/authors/', { name: 'a' })
    await other.query('rollback')
    await Promise.all([...creates, ...lists])
    expect(answers).toEqual(FINE)
    expect(api.database.usage().rejected).toBe(rejected)
  })

  test('for hooks that do not finish: they get only a part of the connections', async () => {
    held = 0
    let free = () => {}
    const until = new Promise<void>((resolve) => (free = resolve))
    hold = { until, free }
    const stuck = times(20, () => createPatiently('/letters/', { text: 't' }))
    await untilWaiting(stuck, () => held)
    const [inHooks, answers] = [held, await useOthers('/authors/', { name: 'a' })]
    hold.free()
    expect(inHooks).toBeGreaterThanOrEqual(POOL / 2)
    expect(inHooks).toBeLessThan(POOL)
    expect(answers).toEqual(FINE)
    expect(await statuses(stuck)).toEqual(new Set([201]))
  })

  test('for a locked table, with requests for related records', async () => {
    await other.query("insert into author (name) values ('a'); update book set author_id = 1")
    await other.query("insert into letter (text, book_id) values ('l', 1)")
    await other.query('begin; lock table author in access exclusive mode')
    const blocked = times(MANY, () => api.fetch('/books-with-authors/'))
    await untilWaiting(blocked)
    const answers = await statuses(times(5, () => api.fetch('/letters-with-books/')))
    await other.query('rollback')
    await Promise.all(blocked)
    expect(answers).toEqual(new Set([200]))
  })

  test('a statement keeps its share if another waiter leaves', async () => {
    let free = () => {}
    const until = new Promise<void>((resolve) => (free = resolve))
    let later = () => {}
    const untilLater = new Promise<void>((resolve) => (later = resolve))
    let began = 0
    const run = (name: string, work: () => Promise<void>, record?: string, signal?: AbortSignal) =>
      api.database.transaction(work, { queueKey: { resource: 'shelf', name, record }, signal })
    const change = (record: number, signal?: AbortSignal) =>
      run(
        'change',
        () => {
          began += 1
          return untilLater
        },
        String(record),
        signal,
      )
    await Promise.all(times(101, (at) => run(`other ${at}`, async () => {})))
    const busy = times(POOL, (at) => run(at < 4 ? 'slow' : 'slower', () => until))
    const gone = new AbortController()
    const leaving = change(0, gone.signal).catch(() => 'gone')
    const changes = times(20, (at) => change(1 + at))
    const early = began
    gone.abort(new Error('gone'))
    await leaving
    free()
    await Promise.all(busy)
    const { waiting } = api.database.usage()
    const last = change(21)
    const more = api.database.usage().waiting - waiting
    later()
    await Promise.all([...changes, last])
    expect([early, more, await leaving]).toEqual([0, 1, 'gone'])
  })

  test('the queue is shared, too: a table with a full share does not prevent others from waiting', async () => {
    await other.query("set lock_timeout = '5s'; begin; lock table book, author in access exclusive mode")
    const { rejected } = api.database.usage()
    const read = (resource: string) =>
      api.database.query({ text: `select from ${resource}`, values: [], resource, name: resource })
    const books = times(1_000, () => read('book').catch(() => 'rejected'))
    const rejections = api.database.usage().rejected - rejected
    const authors = times(20, () => read('author'))
    await other.query('rollback')
    expect(await Promise.all(authors)).toHaveLength(20)
    expect(rejections).toBeGreaterThan(0)
    await Promise.all(books)
  })

  test('many updates of one record all succeed if nothing else locks it', async () => {
    const writers = times(50, (at) => api.send('PATCH', '/books/1/', { title: `t${at}` }))
    expect(await statuses(writers)).toEqual(new Set([200]))
    expect(api.database.usage().waiting).toBe(0)
  })
})
