import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { testDatabaseKind } from '../../support/database.js'

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
  plain: { model: book, path: /plain/ }
plugins: [./plugin.mjs]
`

const ran = jest.fn<() => Promise<void> | void>()

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.hooks('book', { isolation: 'serializable', beforeCreate: async () => ran() })
  app.hooks('book', { beforeCreate: () => undefined })
  app.action('book', 'first', {
    summary: 'Make a book, unless there is one',
    on: 'collection',
    isolation: 'serializable',
    async handle({ context }) {
      const store = context.store(books)
      const there = (await store.batches(1)[Symbol.asyncIterator]().next()).value as readonly unknown[] | undefined
      await ran()
      if (there === undefined) await store.create({ title: 'first' })
    },
  })
  app.action('book', 'nest', {
    summary: 'Ask for more within a transaction',
    on: 'collection',
    handle: ({ context }) => context.transaction(async () => undefined, { isolation: 'serializable' }),
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG, { plugin })
})
afterAll(() => api.close())
beforeEach(async () => {
  jest.resetAllMocks()
  await sql('drop trigger if exists act on books; truncate books, snippetctl_answers')
})

const sql = (text: string) => api.database.query({ text, values: [] })
/** Runs before each insertion into the table. */
const trigger = (statement: string) =>
  sql(`create or replace function act() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$;
       create trigger act before insert on books for each row execute function act()`)
const titles = async () => (await sql('select title from books order by id')).rows.flat()
const make = (path: string, body: unknown = { title: 'one' }, headers = {}) => api.send('POST', path, body, headers)
/** An action takes no body. */
const run = (path: string) => make(path, {})

test('the writes of hooks and actions use the isolation that they declare', async () => {
  await trigger(`new.title := current_setting('transaction_isolation')`)
  await run('/api/books/first/')
  await make('/api/books/')
  await make('/api/books/', { title: 'one' }, { 'idempotency-key': 'k' })
  await make('/api/books/', [{ title: 'one' }])
  await make('/api/plain/')
  expect(await titles()).toEqual([...Array<string>(4).fill('serializable'), 'read committed'])
})

describe('a serialization failure', () => {
  test.each([
    ['/api/books/', { title: 'one' }],
    ['/api/books/', [{ title: 'one' }]],
    ['/api/books/first/', {}],
  ])('at %s %j is retried three times from the start, then 503', async (path, body) => {
    await trigger(`raise exception 'again' using errcode = '40001'`)
    const answer = await make(path, body, { 'idempotency-key': 'k' })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(ran).toHaveBeenCalledTimes(4)
    expect((await sql('select 1 from snippetctl_answers')).rows).toEqual([])
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
  onServer('retries one of two transactions that read the same records and conflict', async () => {
    let arrived = 0
    let meet = () => {}
    const both = new Promise<void>((resolve) => (meet = resolve))
    ran.mockImplementation(() => {
      arrived += 1
      if (arrived === 2) meet()
      return both
    })
    const answers = await Promise.all([run('/api/books/first/'), run('/api/books/first/')])
    expect(answers.map(({ status }) => status)).toEqual([204, 204])
    expect(await titles()).toEqual(['first'])
    expect(ran).toHaveBeenCalledTimes(3)
  })
})

test('a nested transaction cannot raise the isolation', async () => {
  expect((await run('/api/books/nest/')).status).toBe(500)
  expect(JSON.stringify(api.logged.map((entry) => String((entry as { cause?: unknown }).cause)))).toContain(
    'a nested transaction cannot become serializable; set the isolation of the outer transaction',
  )
})

test('a transaction that fails for others runs again three times, but a snapshot, whose rows may have been passed on, does not', async () => {
  const runsOf = async (options: { readonly snapshot?: boolean }) => {
    let runs = 0
    const work = async () => {
      runs += 1
      throw Object.assign(new Error('could not serialize access'), { code: '40001' })
    }
    await expect(api.database.transaction(work, options)).rejects.toThrow()
    return runs
  }
  expect([await runsOf({}), await runsOf({ snapshot: true })]).toEqual([4, 1])
})
