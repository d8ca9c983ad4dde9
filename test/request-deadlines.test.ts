import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Hooks, type Plugin, Problem } from '../src/index.js'
import { type Api, startApi } from './support/api.js'

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
plugins: [./plugin.mjs]
`

const afterCreate = jest.fn<NonNullable<Hooks['afterCreate']>>()
const ended = jest.fn<(error: unknown) => void>()
const later = jest.fn<(store: () => Promise<unknown>) => Promise<unknown>>()
const work = jest.fn<() => Promise<void>>()

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.hooks('book', { afterCreate })
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
beforeAll(async () => {
  api = await startApi(CONFIG, { plugin, limits: { handlerTimeout: 600 } })
  patient = await startApi(CONFIG, { plugin, database: api.database })
})
afterAll(async () => {
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

describe('a request that was answered 504', () => {
  test('leaves nothing of the transaction that is still under way', async () => {
    const { held, release } = hold()
    afterCreate.mockImplementationOnce(() => held)
    expect((await create('one')).status).toBe(504)
    release()
    // It waits for the end of the other, and would be 409 if that had been committed.
    expect((await patient.send('POST', '/api/books/', { title: 'one' })).status).toBe(201)
    expect(await titles()).toEqual(['one'])
  })

  test('tells its handler so by a problem', async () => {
    const { held, release } = hold()
    const over = new Promise<unknown>((resolve) => ended.mockImplementation(resolve))
    work.mockImplementationOnce(() => held)
    expect((await api.send('POST', '/api/slow/', {})).status).toBe(504)
    release()
    expect(await over).toEqual(new Problem('timeout', 'the request was answered before its transaction ended'))
    expect(later).not.toHaveBeenCalled()
    expect(await titles()).toEqual([])
  })

  test('keeps what a transaction had done before, and what follows that', async () => {
    const [waiting, answered] = [hold(), hold()]
    const stored = new Promise<void>((resolve) => {
      later.mockImplementation(async (store) => {
        await answered.held
        await store()
        resolve()
      })
    })
    work.mockResolvedValueOnce().mockImplementationOnce(() => waiting.held)
    expect((await api.send('POST', '/api/slow/', {})).status).toBe(504)
    answered.release()
    await stored
    waiting.release()
    expect(await titles()).toEqual(['later', 'slow'])
  })
})

test('a request whose transaction is being committed is answered when that is known, and not 504', async () => {
  const slowCommit = `
    create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(0.9); return null; end $$;
    create constraint trigger slow after insert on books deferrable initially deferred for each row execute function wait()`
  await api.database.query({ text: slowCommit, values: [] })
  expect((await create('one')).status).toBe(201)
  expect(await titles()).toEqual(['one'])
})
