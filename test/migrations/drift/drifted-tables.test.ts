import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.js'
import { type Api, startApi } from '../../support/api.js'
import { testDatabaseKind } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      pages: { type: integer, default: 1 }
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 50 }
resources:
  book: { model: book, path: /books/ }
  author: { model: author, path: /authors/ }
`

let api: Api
beforeEach(async () => {
  api = await startApi(YAML)
  await api.send('POST', '/books/', { title: 'first' })
})
afterEach(() => api.close())

const alter = (text: string) => api.database.query({ text, values: [] })
const statusOf = async (method: string, path: string) => (await api.fetch(path, { method })).status
/** No column is named in its statement, so that it is answered unless something keeps it away. */
const untouched = () => statusOf('DELETE', '/books/99/')

describe('a table that differs from the configuration', () => {
  test.each([
    ['a column is missing', 'alter table books drop pages', 'books.pages is missing'],
    [
      'a column is of another type',
      'alter table books alter title type integer using 1',
      'books.title is integer and should be character varying(50)',
    ],
    ['the table is missing', 'alter table books rename to tomes', 'table books is missing'],
  ])('returns 503 on all its routes, while others serve: %s', async (_what, change, difference) => {
    expect(await untouched()).toBe(404)
    await alter(change)
    await api.send('POST', '/books/', { title: 'Dune' })
    const drifts = () => api.logged.filter(({ event }) => event === 'schema_drift')
    // Without its table, a statement fails before the difference is found.
    await waitUntil(async () => (await untouched()) === 503 && drifts().length > 0)
    const routes = [
      await api.fetch('/books/'),
      await api.fetch('/books/1/'),
      await api.send('POST', '/books/', { title: 'second' }),
      await api.send('PUT', '/books/1/', { title: 'second', pages: 2 }),
      await api.send('PATCH', '/books/1/', { title: 'second' }),
    ]
    for (const response of routes) {
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await response.json()).toMatchObject({
        type: '/problems/unavailable',
        detail: 'The database does not match the configuration',
      })
    }
    expect((await api.send('POST', '/authors/', { name: 'x' })).status).toBe(201)
    expect(drifts()).toHaveLength(1)
    expect(drifts()[0]).toMatchObject({
      table: 'books',
      differences: expect.arrayContaining([expect.stringContaining(difference)]),
    })
  })

  test('still validates bodies first, which needs no database', async () => {
    await alter('alter table books drop pages')
    await api.fetch('/books/1/')
    await waitUntil(async () => (await untouched()) === 503)
    expect((await api.send('POST', '/books/', { title: 5 })).status).toBe(400)
  })

  test('recovers by itself once it matches, with a log entry', async () => {
    await alter('alter table books drop pages')
    expect(await statusOf('GET', '/books/1/')).toBe(503)
    await waitUntil(async () => (await untouched()) === 503)
    await alter('alter table books add pages integer not null default 1')
    await waitUntil(async () => (await untouched()) === 404)
    expect(await (await api.fetch('/books/1/')).json()).toEqual({ id: 1, title: 'first', pages: 1 })
    expect(api.logged.filter(({ event }) => event === 'schema_fits')).toMatchObject([{ table: 'books' }])
  })

  test('does not differ if a column has only become wider', async () => {
    await alter('alter table books alter title type varchar(90); alter table books alter pages type bigint')
    await alter('drop table authors')
    expect(await statusOf('GET', '/authors/')).toBe(503)
    await waitUntil(
      async () =>
        (await statusOf('DELETE', '/authors/1/')) === 503 && api.logged.some(({ event }) => event === 'schema_drift'),
    )
    expect(await untouched()).toBe(404)
    expect((await api.send('POST', '/books/', { title: 'second' })).status).toBe(201)
  })

  test('is served, and logged, if only new records fail', async () => {
    await alter("alter table books add shelf text not null default ''; alter table books alter shelf drop default")
    expect((await api.send('POST', '/books/', { title: 'second' })).status).toBe(503)
    const logged = (name: string) => waitUntil(() => api.logged.find(({ event }) => event === name))
    expect(await logged('schema_drift')).toMatchObject({
      table: 'books',
      msg: 'the table books does not match the configuration, so creating its records returns 503: column books.shelf is not in the configuration, is not null and has no default: no row can be added',
    })
    expect(await statusOf('GET', '/books/1/')).toBe(200)
    await alter('alter table books drop shelf')
    await logged('schema_fits')
    expect((await api.send('POST', '/books/', { title: 'second' })).status).toBe(201)
  })

  test('returns 503 as soon as a cell cannot be read', async () => {
    await alter('alter table books alter id drop identity if exists')
    await alter('alter table books alter id drop default, alter id type uuid using gen_random_uuid()')
    expect(await statusOf('GET', '/books/')).toBe(503)
    await waitUntil(() => api.logged.some(({ event }) => event === 'schema_drift'))
    expect(api.logged.filter(({ event }) => event === 'schema_drift')).toMatchObject([{ table: 'books' }])
  })

  // Only this process can alter the embedded database.
  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

  onServer('returns 503 also if no statement fails, a few seconds later', async () => {
    await api.close()
    const { tableCheckInterval } = DEFAULT_LIMITS
    api = await startApi(YAML, { limits: { tableCheckInterval } })
    await api.send('POST', '/books/', { title: 'first' })
    await alter("alter table books alter title type bytea using convert_to(title, 'UTF8')")
    expect(await (await api.fetch('/books/1/')).json()).toMatchObject({ title: '\\x6669727374' })
    const now = performance.now.bind(performance)
    jest.spyOn(performance, 'now').mockImplementation(() => now() + tableCheckInterval + 1)
    await waitUntil(async () => (await statusOf('GET', '/books/1/')) === 503).finally(() => jest.restoreAllMocks())
    expect(api.logged.filter(({ event }) => event === 'schema_drift')).toMatchObject([{ table: 'books' }])
  })
})
