import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type BodyPolicy, type Context, type Hooks, type Plugin, Problem } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { makeProject, type Project } from '../../support/cli.js'
import { openTestDatabase } from '../../support/database.js'
import { problemOf } from '../../support/problems.js'
import { dial, receive } from '../../support/wire.js'
import { waitUntil } from '../../support/wait-until.js'

const CONFIG = `
version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100, unique: true }
resources:
  book: { model: book, path: /books/ }
  plain: { model: book, path: /plain/ }
plugins: [./plugin.mjs]
`

const afterCreate = jest.fn<NonNullable<Hooks['afterCreate']>>()
const ended = jest.fn<(error: unknown) => void>()
const later = jest.fn<(store: () => Promise<unknown>) => Promise<unknown>>()
const work = jest.fn<() => Promise<void>>()

/** More writes than end before a deadline, unless somebody says that it is enough. */
const MANY = 100_000
let enough = false

const POLICY: BodyPolicy = { mediaTypes: ['application/json'], optional: false, limit: 1_000 }

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.hooks('book', { afterCreate })
  app.route('POST', '/late/', 'late', async ({ store }) => {
    await work()
    await store(books).create({ title: 'late' }).then(ended, ended)
    return { status: 204 }
  })
  app.route('POST', '/tardy/', 'tardy', async ({ transaction }) => {
    await work()
    await transaction(({ store }) => store(books).create({ title: 'tardy' })).then(ended, ended)
    return { status: 204 }
  })
  const fill = async ({ store }: Pick<Context, 'store'>) => {
    for (let at = 0; at < MANY && !enough; at++) await store(books).create({ title: `many ${at}` })
  }
  app.route('POST', '/many/', 'many', async (context) => {
    await fill(context)
    return { status: 204 }
  })
  app.route('POST', '/inside/', 'inside', async ({ transaction }) => {
    await transaction(fill)
    return { status: 204 }
  })
  app.route('POST', '/after/', 'after', async ({ transaction }) => {
    enough = false
    await transaction(async (inside) => inside.afterCommit((after) => after.transaction(fill).catch(ended)))
    return { status: 204 }
  })
  app.route('POST', '/vain/', 'vain', async ({ store }) => {
    for (let at = 0; at < MANY && !enough; at++) await store(books).destroy(99)
    return { status: 204 }
  })
  app.route('POST', '/late-reader/', 'late-reader', async ({ body }) => {
    await delay(400)
    await body(POLICY)
    await delay(500)
    return { status: 204 }
  })
  app.route('POST', '/reader/', 'reader', async ({ body, store }) => {
    await body(POLICY)
    for (let at = 0; at < MANY && !enough; at++) await store(books).destroy(99)
    return { status: 204 }
  })
  app.route('GET', '/reads/', 'reads', async ({ transaction, store }) => {
    await transaction(async (inside) => {
      await inside.store(books).lock(99)
      await inside.store(books).lockMany([99])
      await inside.store(books).retrieveMany([99])
    })
    await store(books).update(99, { title: 'nobody' })
    await store(books).destroy(99)
    await store(books).destroyMany([99])
    await store(books).take(99)
    throw new Problem('unavailable', 'busy', { headers: { 'Retry-After': '1' } })
  })
  app.route('GET', '/writes/', 'writes', async ({ transaction }) => {
    await transaction(({ store }) => store(books).create({ title: 'stored' }))
    throw new Problem('unavailable', 'busy', { headers: { 'Retry-After': '1' } })
  })
  app.route('POST', '/slow/', 'slow', async (context) => {
    try {
      await context.transaction(async (inside) => {
        await inside.store(books).create({ title: 'slow' })
        await work()
        inside.afterCommit((after) =>
          later(() => after.transaction(({ store }) => store(books).create({ title: 'later' }))),
        )
      })
      await work()
      ended(undefined)
    } catch (error) {
      ended(error)
    }
    return { status: 204 }
  })
}

/** A promise, and what resolves it. */
const hold = () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  return { held, release: () => release() }
}

let api: Api
/** The same with the usual time. */
let patient: Api
let project: Project
/** Of a plugin in a file, by which the log can name it. */
let filed: Api
const HUNG = `export default (app) => {
  const never = () => new Promise(() => {})
  const books = app.resource('book')
  app.hooks('book', { afterCreate: never })
  app.route('POST', '/hung/', 'hung', never)
  app.action('book', 'wait', { summary: 'Wait for ever', on: 'collection', handle: never })
  app.route('POST', '/used/', 'used', () => ({ status: 204 }))
  app.use('/used/', never)
  app.route('POST', '/later/', 'later', async (context) => {
    await context.transaction(async (inside) => {
      inside.afterCommit(never)
      inside.afterCommit(async (after) => {
        await after.transaction(async ({ store }) => {
          await store(books).create({ title: 'later' })
          await never()
        })
      })
      inside.afterCommit((after) => after.store(books).create({ title: 'last' }))
    })
    return { status: 204 }
  })
}
`

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': CONFIG, 'plugin.mjs': HUNG })
  filed = await startApi(join(project.folder, 'resources.yaml'), { limits: { handlerTimeout: 300, drainTimeout: 100 } })
  api = await startApi(CONFIG, { plugin, limits: { handlerTimeout: 600 } })
  patient = await startApi(CONFIG, { plugin, database: api.database })
})
afterAll(async () => {
  await filed.close()
  await project.remove()
  await patient.close()
  await api.close()
})
beforeEach(async () => {
  jest.resetAllMocks()
  await api.database.query({ text: 'truncate books', values: [] })
})

const create = (title: string) => api.send('POST', '/api/books/', { title })
const titles = async () =>
  (await api.database.query({ text: 'select title from books order by 1', values: [] })).rows.flat()

test('a request whose client leaves is carried out', async () => {
  const { held, release } = hold()
  const gone = new AbortController()
  afterCreate.mockImplementationOnce(() => {
    gone.abort()
    return held
  })
  const body = JSON.stringify({ title: 'one' })
  const headers = { 'content-type': 'application/json' }
  await expect(patient.fetch('/api/books/', { method: 'POST', body, headers, signal: gone.signal })).rejects.toThrow()
  // The service notices that the client has gone.
  await delay(50)
  release()
  await waitUntil(async () => (await titles()).length > 0)
})

describe('a request that timed out with 504', () => {
  test('rolls back its open transaction', async () => {
    const { held, release } = hold()
    afterCreate.mockImplementationOnce(() => held)
    expect(await problemOf(await create('one'))).toEqual([504, 'timeout', '1'])
    release()
    // It waits for the end of the other, and would be 409 if that had been committed.
    expect((await patient.send('POST', '/api/books/', { title: 'one' })).status).toBe(201)
    expect(await titles()).toEqual(['one'])
  })

  test('gives its handler a problem', async () => {
    const { held, release } = hold()
    const over = new Promise<unknown>((resolve) => ended.mockImplementation(resolve))
    work.mockImplementationOnce(() => held)
    expect((await api.send('POST', '/api/slow/', {})).status).toBe(504)
    release()
    expect(await over).toEqual(new Problem('timeout', 'the request ended before its transaction'))
    expect(later).not.toHaveBeenCalled()
    expect(await titles()).toEqual([])
  })

  test('keeps what earlier transactions committed, and their after-commit tasks', async () => {
    const [waiting, answered] = [hold(), hold()]
    const stored = new Promise<void>((resolve) => {
      later.mockImplementation(async (store) => {
        await answered.held
        await store()
        resolve()
      })
    })
    work.mockResolvedValueOnce().mockImplementationOnce(() => waiting.held)
    expect(await problemOf(await api.send('POST', '/api/slow/', {}))).toEqual([504, 'outcome-unknown', null])
    answered.release()
    await stored
    waiting.release()
    expect(await titles()).toEqual(['later', 'slow'])
  })
})

test('a request whose transaction is committing gets its outcome instead of 504', async () => {
  const slowCommit = `
    create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(0.9); return null; end $$;
    create constraint trigger slow after insert on books deferrable initially deferred for each row execute function wait()`
  await api.database.query({ text: slowCommit, values: [] })
  expect((await create('one')).status).toBe(201)
  await api.database.query({ text: 'drop trigger slow on books', values: [] })
  expect(await titles()).toEqual(['one'])
})

test('a request whose only statement is slow gets its outcome', async () => {
  const slowInsert = `
    create or replace function nap() returns trigger language plpgsql as $$ begin perform pg_sleep(0.9); return new; end $$;
    create trigger nap before insert on books for each row execute function nap()`
  await api.database.query({ text: slowInsert, values: [] })
  expect((await api.send('POST', '/api/plain/', { title: 'one' })).status).toBe(201)
  await api.database.query({ text: 'drop trigger nap on books', values: [] })
  expect(await titles()).toEqual(['one'])
})

test('a handler that continues after the response cannot write any more', async () => {
  const { held, release } = hold()
  const over = new Promise<unknown>((resolve) => ended.mockImplementation(resolve))
  work.mockImplementationOnce(() => held)
  expect(await problemOf(await api.send('POST', '/api/late/', {}))).toEqual([504, 'timeout', '1'])
  release()
  expect(await over).toMatchObject({ type: 'timeout' })
  expect(await titles()).toEqual([])
})

test('a handler that begins a transaction after the response stores nothing', async () => {
  const { held, release } = hold()
  const over = new Promise<unknown>((resolve) => ended.mockImplementation(resolve))
  work.mockImplementationOnce(() => held)
  expect(await problemOf(await api.send('POST', '/api/tardy/', {}))).toEqual([504, 'timeout', '1'])
  release()
  expect(await over).toMatchObject({ type: 'timeout' })
  expect(await titles()).toEqual([])
})

describe('a handler that writes without a pause', () => {
  test.each([
    ['many', [504, 'outcome-unknown', null]],
    ['vain', [504, 'timeout', '1']],
    ['inside', [504, 'timeout', '1']],
    ['reader', [504, 'timeout', '1']],
  ])('is ended at the deadline, and learns the outcome: %s', async (path, expected) => {
    enough = false
    const late = setTimeout(() => (enough = true), 3_000)
    expect(await problemOf(await api.send('POST', `/api/${path}/`, {}))).toEqual(expected)
    clearTimeout(late)
  })

  test('in a transaction after a commit is ended and rolled back, too', async () => {
    const over = new Promise<unknown>((resolve) => ended.mockImplementation(resolve))
    expect((await api.send('POST', '/api/after/', {})).status).toBe(204)
    expect(await over).toMatchObject({ type: 'timeout' })
    expect(await titles()).toEqual([])
  })
})

test('a body that has arrived long before it is read does not extend the deadline', async () => {
  expect(await problemOf(await api.send('POST', '/api/late-reader/', {}))).toEqual([504, 'timeout', '1'])
})

test('the time in which a body arrives does not count', async () => {
  afterCreate.mockImplementationOnce(() => delay(100))
  const socket = dial(api.url)
  const body = '{"title":"slow"}'
  socket.write(
    `POST /api/books/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  await delay(1_200)
  socket.write(body)
  expect((await receive(socket, { answers: 1 })).answers).toMatchObject([{ status: 201 }])
  socket.destroy()
})

describe('a request that fails after it has', () => {
  test('read in a transaction, and written to no record, may be retried', async () => {
    await create('one')
    expect(await problemOf(await patient.fetch('/api/reads/'))).toEqual([503, 'unavailable', '1'])
  })

  test('stored something in a transaction may not be retried', async () => {
    expect(await problemOf(await patient.fetch('/api/writes/'))).toEqual([504, 'outcome-unknown', null])
    const cause = expect.objectContaining({ type: 'unavailable', message: 'busy' })
    const failures = patient.logged.filter(({ event }) => event === 'failure')
    expect(failures.at(-1)).toMatchObject({ route: 'writes', type: 'outcome_unknown', cause })
  })
})

describe('a transaction that ends before it has a connection', () => {
  /** Has all connections of the pool. */
  const takeAll = async () => {
    const { held, release } = hold()
    const all = Array.from({ length: api.database.usage().max }, () => api.database.transaction(() => held))
    await waitUntil(() => {
      const { idle, open, max } = api.database.usage()
      return idle === 0 && open === max
    })
    return { free: () => (release(), Promise.all(all)) }
  }

  test('stops waiting, and uses no connection', async () => {
    const { free } = await takeAll()
    expect(await problemOf(await create('one'))).toEqual([504, 'timeout', '1'])
    const { waiting, max } = api.database.usage()
    expect(waiting).toBe(0)
    await free()
    expect((await patient.send('POST', '/api/books/', { title: 'two' })).status).toBe(201)
    expect(api.database.usage().open).toBe(max)
  })

  test('does not begin', async () => {
    await (await takeAll()).free()
    const { open } = api.database.usage()
    const reason = new Error('too late')
    const asked = api.database.transaction(work, { signal: AbortSignal.abort(reason) })
    await expect(asked).rejects.toBe(reason)
    expect(work).not.toHaveBeenCalled()
    expect(api.database.usage().open).toBe(open)
  })
})

describe('plugin code that never ends', () => {
  const send = (path: string, init: RequestInit = {}) =>
    filed.fetch(`/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"title":"x"}',
      ...init,
    })
  const free = async () => expect((await filed.fetch('/api/books/')).status).toBe(200)
  const failures = () => filed.logged.filter(({ event }) => event === 'failure')
  /** The failures after the first `before`; waits for at least one. */
  const failed = async (before: number) => {
    await waitUntil(() => failures().length > before)
    return failures().slice(before)
  }
  const connections = () => {
    const { open, idle } = filed.database.usage()
    return open - idle
  }
  const noConnections = () => waitUntil(() => connections() === 0)

  test.each([
    ['/books/', { route: 'book-list', hook: 'afterCreate', place: 'plugin.mjs:4' }],
    ['/hung/', { route: 'hung', place: 'plugin.mjs:5' }],
    ['/books/wait/', { route: 'book-wait', place: 'plugin.mjs:6' }],
    ['/used/', { route: 'used', hook: 'use', place: 'plugin.mjs:8' }],
  ])('at %s loses its connection, and the log names it', async (path, entry) => {
    const before = failures().length
    // One more than there are connections.
    const most = filed.database.usage().max + 1
    const asked = await Promise.all(
      Array.from({ length: most }, () => send(path, path === '/books/' ? {} : { body: '{}' })),
    )
    for (const answer of asked) expect(await problemOf(answer)).toEqual([504, 'timeout', '1'])
    await noConnections()
    await free()
    expect(await failed(before)).toContainEqual(expect.objectContaining(entry))
  })

  test.each(['destroy', 'resetAndDestroy'] as const)(
    'loses its connection although its client has gone: %s',
    async (leave) => {
      const head = `Host: ${new URL(filed.url).host}\r\nContent-Type: application/json\r\nContent-Length: 13`
      let before = 0
      // On a busy machine, the request may have been answered before it was seen in progress.
      await waitUntil(async () => {
        before = failures().length
        const socket = dial(filed.url)
        socket.write(`POST /api/books/ HTTP/1.1\r\n${head}\r\n\r\n{"title":"x"}`)
        await waitUntil(() => connections() > 0 || failures().length > before)
        const isInProgress = connections() > 0
        socket[leave]()
        return isInProgress
      })
      const entry = { route: 'book-list', hook: 'afterCreate' }
      expect(await failed(before)).toContainEqual(expect.objectContaining(entry))
      await noConnections()
      await free()
    },
  )

  test('in an after-commit task keeps no connection, and does not delay other tasks', async () => {
    const before = failures().length
    expect((await send('/later/', { body: '{}' })).status).toBe(204)
    const last = { text: "select count(*) from books where title = 'last'", values: [] }
    await waitUntil(async () => (await filed.database.query(last)).rows[0]?.[0] === '1')
    expect(await failed(before)).toContainEqual(expect.objectContaining({ route: 'later', type: 'after_commit' }))
    await noConnections()
  })

  test('does not keep a service from stopping', async () => {
    const short = await startApi(join(project.folder, 'resources.yaml'), { limits: { drainTimeout: 50 } })
    const asked = short.send('POST', '/api/books/', { title: 'x' })
    const cut = expect(asked).rejects.toThrow()
    await waitUntil(() => short.database.usage().open > short.database.usage().idle)
    await short.close()
    await cut
  })

  test('has its transactions ended when the database is closed', async () => {
    const database = await openTestDatabase()
    const [begun, never] = [hold(), hold()]
    const over = database
      .transaction(async () => {
        begun.release()
        await never.held
      })
      .catch((error: unknown) => error)
    await begun.held
    const closed = database.close()
    expect(await over).toEqual(new Problem('unavailable', 'The service stops'))
    never.release()
    await closed
  })
})
