import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Problem, type Plugin } from '../../../src/index.js'
import type { Statement } from '../../../src/db/database.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../../support/database.js'
import { talk } from '../../support/wire.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 20 }
      lent: { type: boolean, default: false }
resources:
  book: { model: book, path: /books/, filterable: [title] }
`

type Book = { readonly id: bigint; readonly title: string; readonly lent: boolean }

const JSON_TYPE = { 'content-type': 'application/json' }

/** What the action `answer` answers. */
let answer: unknown
let called: string[]

interface Cover {
  readonly width: number | null
  readonly sizes: readonly number[] | null
  readonly words: readonly string[] | null
}

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  app.action<{ readonly reader: string; readonly days: bigint }, unknown, Book>('book', 'lend', {
    summary: 'Lend a book',
    input: {
      reader: { type: 'string', min: 1, max: 5 },
      days: { type: 'bigint', default: 28, minimum: 1 },
      note: { type: 'text', nullable: true, default: null },
    },
    output: { reader: { type: 'string' }, days: { type: 'bigint' }, note: { type: 'text', nullable: true } },
    async handle({ context, id, record, input }) {
      await context.store(books).update(id, { lent: true })
      if (record.lent) throw new Problem('conflict', 'It is lent')
      return input
    },
  })
  app.action<Cover, unknown, Book>('book', 'cover', {
    method: 'GET',
    summary: 'Draw a cover',
    input: {
      width: { type: 'integer', maximum: 9, nullable: true },
      scale: { type: 'float', nullable: true },
      sizes: { type: 'array', items: { type: 'float', nullable: true }, nullable: true },
      colours: { type: 'json', nullable: true },
      words: { type: 'array', items: { type: 'string' }, nullable: true },
    },
    output: { text: { type: 'text' } },
    handle: ({ record, input: { width, sizes, words } }) => ({
      text: [record.title, String(width), ...(sizes ?? []), ...(words ?? [])].join(' '),
    }),
  })
  app.action('book', 'report', {
    method: 'GET',
    summary: 'Count books, even if something else cannot be counted',
    output: { books: { type: 'bigint' } },
    async handle({ context }) {
      await context.knex('nothing').catch(() => called.push('failed'))
      return { books: BigInt((await context.knex('books')).length) }
    },
  })
  app.action('book', 'take-back', {
    method: 'PUT',
    summary: 'Take a book back',
    output: 'record',
    handle: async ({ context, id }) => void (await context.store(books).update(id, { lent: false })),
  })
  app.action('book', 'clear', {
    on: 'collection',
    summary: 'Forget that books were lent',
    handle: () => void called.push('clear'),
  })
  app.action('book', 'answer', {
    on: 'collection',
    summary: 'Answer something',
    output: { count: { type: 'bigint', minimum: 0 } },
    handle: () => answer,
  })
  app.action('book', 'say', { on: 'collection', summary: 'Say something', handle: () => answer })
  app.action('book', 'measure', {
    on: 'collection',
    summary: 'Measure the books',
    output: { width: { type: 'integer', maximum: 9 }, height: { type: 'integer', maximum: 9 } },
    handle: () => answer,
  })
  app.action('book', 'lose', {
    summary: 'Destroy a book',
    output: 'record',
    handle: async ({ context, id }) => {
      await context.store(books).destroy(id)
    },
  })
  app.replace('book', 'destroy', async ({ context, id, generated }) => {
    called.push(`destroy ${id}`)
    const book = await context.store(books).retrieve(id)
    return book?.['lent'] ? { status: 202, body: { kept: id } } : generated()
  })
  app.replace('book', 'partial_update', ({ id, values }) => ({ status: 200, body: { id, values } }))
  app.replace('book', 'list', ({ request }) => ({ status: 200, body: { conditions: request.plan.where.length } }))
  app.hooks('book', { beforeDestroy: () => void called.push('hook') })
}

let api: Api
let database: TestDatabase
let sent: readonly Statement[]
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watching = watchDatabase(database)
  sent = watching.sent
  // Every response is compared with the OpenAPI document.
  api = await startApi(YAML, { plugin, database: watching.watched })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  called = []
  await api.database.query({ text: 'truncate books restart identity', values: [] })
  await api.send('POST', '/books/', { title: 'Dune' })
})

const lent = async () => ((await (await api.fetch('/books/1/')).json()) as Book).lent

describe('an action', () => {
  test('validates its input exactly and fills in defaults', async () => {
    const response = await api.send('POST', '/books/1/lend/', { reader: 'Ann' })
    expect([response.status, await response.text()]).toEqual([200, '{"reader":"Ann","days":28,"note":null}'])
    expect(await lent()).toBe(true)
    await api.send('PUT', '/books/1/take-back/', {})
    const body = '{"reader":"Ann","days":9223372036854775807}'
    const exact = await fetch(`${api.url}/books/1/lend/`, { method: 'POST', headers: JSON_TYPE, body })
    expect(await exact.text()).toContain('"days":9223372036854775807')
  })

  test('runs in one transaction, which an error rolls back', async () => {
    await api.send('POST', '/books/1/lend/', { reader: 'Ann' })
    expect((await api.send('POST', '/books/1/lend/', { reader: 'Bob' })).status).toBe(409)
  })

  test.each([
    [
      'a body with invalid values',
      { reader: 'Annabel', days: 0 },
      400,
      { reader: expect.any(String), days: expect.any(String) },
    ],
    ['a body without a required field', {}, 400, { reader: 'Reader is required' }],
    ['an undeclared member', { reader: 'Ann', weeks: 1 }, 400, { weeks: expect.stringContaining('reader, days') }],
  ])('rejects %s', async (_case, body, status, errors) => {
    const response = await api.send('POST', '/books/1/lend/', body)
    expect([response.status, await response.json()]).toMatchObject([status, { errors }])
    expect(await lent()).toBe(false)
  })

  test('rejects an unknown parameter, whatever its method', async () => {
    const requests: readonly (readonly [method: string, path: string])[] = [
      ['GET', '/books/1/cover/?depth=2'],
      ['GET', '/books/1/cover/?sizes=x'],
      ['POST', '/books/clear/?depth=2'],
    ]
    for (const [method, path] of requests) {
      const response = await api.fetch(path, { method })
      expect([response.status, await response.json()]).toMatchObject([400, { type: '/problems/invalid-query' }])
    }
    expect(called).toEqual([])
  })

  test.each([
    ['a body without a Content-Type', Buffer.from('{}'), {}],
    ['an empty object', '{}', JSON_TYPE],
    ['a Content-Type without a body', undefined, JSON_TYPE],
    ['neither a body nor a Content-Type', undefined, {}],
  ])('accepts %s for an action without input', async (_case, body, headers: Readonly<Record<string, string>>) => {
    const sent = { method: 'POST', headers, ...(body !== undefined && { body }) }
    expect((await api.fetch('/books/clear/', sent)).status).toBe(204)
  })

  test('accepts a body of no chunks for an action without input', async () => {
    const bytes = 'POST /books/clear/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    expect((await talk(api.url, bytes, { answers: 1 })).answers).toMatchObject([{ status: 204 }])
  })

  test.each([
    ['members', '{"all":true}', JSON_TYPE, 400, '`all` is not a field here; no field can be sent'],
    ['a list', '[1]', JSON_TYPE, 400, 'the body must be a JSON object'],
    ['invalid JSON', '{', JSON_TYPE, 400, 'not valid JSON'],
    ['another media type', 'all=true', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'Content-Type'],
  ])('rejects %s as the body of an action without input', async (_case, body, headers, status, says) => {
    called = []
    const response = await api.fetch('/books/clear/', { method: 'POST', body, headers })
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
    expect(called).toEqual([])
  })

  test('treats an empty body as an empty object, if the action has required input', async () => {
    const response = await api.fetch('/books/1/lend/', { method: 'POST' })
    expect([response.status, await response.json()]).toMatchObject([400, { errors: { reader: 'Reader is required' } }])
  })

  test.each([
    ['a missing record', 'POST', '/books/7/lend/', '{"reader":"Ann"}', 404],
    ['an invalid id', 'POST', '/books/07/lend/', '{"reader":"Ann"}', 404],
    ['a body that is not JSON', 'POST', '/books/1/lend/', '{', 400],
    ['another method', 'DELETE', '/books/1/lend/', undefined, 405],
    ['an undeclared query parameter', 'GET', '/books/1/cover/?height=1', undefined, 400],
    ['a query parameter of another type', 'GET', '/books/1/cover/?width=wide', undefined, 400],
    ['a number that JSON does not have', 'GET', '/books/1/cover/?scale=NaN', undefined, 400],
    ['a JSON object with a key twice', 'GET', '/books/1/cover/?colours={"a":1,"a":2}', undefined, 400],
    ['an infinite number', 'GET', '/books/1/cover/?scale=-Infinity', undefined, 400],
    ['a list with a number that JSON does not have', 'GET', '/books/1/cover/?sizes=1,NaN', undefined, 400],
    ['a query parameter that violates a rule', 'GET', '/books/1/cover/?width=10', undefined, 400],
  ])('rejects %s', async (_case, method, path, body, status) => {
    const response = await api.fetch(path, { method, ...(body && { body, headers: JSON_TYPE }) })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    if (status === 405) expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })

  test('explains a query parameter that violates a rule, as it does for bodies', async () => {
    expect(await (await api.fetch('/books/1/cover/?width=10')).json()).toMatchObject({
      type: '/problems/invalid-query',
      errors: { width: 'Width must be between -2147483648 and 9' },
    })
  })

  test('names the wrong value of a list', async () => {
    expect(await (await api.fetch('/books/1/cover/?sizes=1,x')).json()).toMatchObject({
      errors: { sizes: 'the value of `sizes` must be like `0.1`; got `x`' },
    })
  })

  test('lists the query parameters it accepts', async () => {
    expect(await (await api.fetch('/books/1/cover/?height=1')).json()).toMatchObject({
      detail: '`height` is not a parameter here; the parameters are width, scale, sizes, colours, words',
    })
  })

  test('rejects another media type', async () => {
    const response = await api.send('POST', '/books/1/lend/', {}, { 'content-type': 'text/plain' })
    expect(response.status).toBe(415)
  })

  test.each([
    ['/books/1/cover/', 'Dune null'],
    ['/books/1/cover/?width=7&sizes=1,2.5', 'Dune 7 1 2.5'],
    ['/books/1/cover/?sizes=1', 'Dune null 1'],
    ['/books/1/cover/?sizes=', 'Dune null'],
    ['/books/1/cover/?words={a},b\\,c', 'Dune null {a} b,c'],
  ])('with GET takes its input from the query: %s', async (path, text) => {
    expect(await (await api.fetch(path)).json()).toEqual({ text })
  })

  test('with GET does not lock its record, and runs outside a transaction, where queries may fail', async () => {
    const before = sent.length
    const response = await api.fetch('/books/1/report/')
    expect([response.status, await response.json(), called]).toEqual([200, { books: 1 }, ['failed']])
    const [find, ...others] = sent.slice(before).map(({ text }) => text)
    expect([find, others.length]).toEqual([expect.not.stringContaining('for no key update'), 2])
  })

  test('returns the updated record', async () => {
    await api.send('POST', '/books/1/lend/', { reader: 'Ann' })
    const response = await api.fetch('/books/1/take-back/', { method: 'PUT' })
    expect(await response.json()).toEqual({ id: 1, title: 'Dune', lent: false })
  })

  test('of the collection returns nothing if no output is declared', async () => {
    const response = await api.fetch('/books/clear/', { method: 'POST' })
    expect([response.status, await response.text(), called]).toEqual([204, '', ['clear']])
  })

  test.each([
    [{ count: 2n ** 63n - 1n }, 200, '{"count":9223372036854775807}'],
    [{ count: -1n }, 500, 'returned a value that does not match its output: Count must'],
    [{ cuont: 1n }, 500, 'the action `book-answer` has no field `cuont` to set'],
    [{}, 500, 'Count is required'],
    [undefined, 500, 'the action `book-answer` must return an object'],
  ])('that returns %p', async (given, status, text) => {
    answer = given
    const response = await api.fetch('/books/answer/', { method: 'POST' })
    expect(response.status).toBe(status)
    if (status === 200) return expect(await response.text()).toBe(text)
    const { cause } = api.logged.findLast(({ event }) => event === 'failure') as unknown as { cause: Error }
    expect(cause.message).toContain(text)
  })
})

test.each([
  ['/books/say/', 'x', 'the action `book-say` returned a value, but declares no output'],
  ['/books/answer/', null, 'the action `book-answer` must return an object'],
  ['/books/answer/', 'x', 'the action `book-answer` must return an object'],
  [
    '/books/answer/',
    { count: -1n },
    'the action `book-answer` returned a value that does not match its output: Count must be between 0 and 9223372036854775807',
  ],
  [
    '/books/measure/',
    { width: 10 },
    'the action `book-measure` returned a value that does not match its output: Width must be between -2147483648 and 9; Height is required',
  ],
  ['/books/1/lose/', undefined, 'the action `book-lose` destroyed the record that it must return'],
])('an invalid result of %s is a 500, and the log explains it: %p', async (path, given, message) => {
  answer = given
  expect((await api.fetch(path, { method: 'POST' })).status).toBe(500)
  expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({ cause: { message } })
  expect((await api.fetch('/books/1/')).status).toBe(200)
})

test('an action of the collection cannot return a record', async () => {
  const wrong: Plugin = (app) =>
    app.action('book', 'say', { on: 'collection', summary: 'Say something', output: 'record', handle: () => undefined })
  await expect(startApi(YAML, { plugin: wrong })).rejects.toThrow(
    'the action `book-say` runs on the collection, so its output cannot be `record`',
  )
})

describe('a replaced operation', () => {
  test("returns the replacement's response or the generated one, with its hooks", async () => {
    await api.send('POST', '/books/1/lend/', { reader: 'Ann' })
    const kept = await api.fetch('/books/1/', { method: 'DELETE' })
    expect([kept.status, await kept.json(), called]).toEqual([202, { kept: 1 }, ['destroy 1']])
    await api.fetch('/books/1/take-back/', { method: 'PUT' })
    expect((await api.fetch('/books/1/', { method: 'DELETE' })).status).toBe(204)
    expect(called).toEqual(['destroy 1', 'destroy 1', 'hook'])
  })

  test.each([
    ['DELETE', '/books/07/', undefined, undefined, 404],
    ['PATCH', '/books/1/', { title: '' }, undefined, 400],
    ['PATCH', '/books/x/', { title: 'Emma' }, undefined, 404],
    ['PATCH', '/books/1/', { title: 'Emma' }, 'text/plain', 415],
    ['PATCH', '/books/1/', { title: 'Emma' }, 'application/merge-patch+json', 200],
    ['GET', '/books/?color=red', undefined, undefined, 400],
    ['GET', '/books/?title=Dune', undefined, undefined, 200],
  ])('validates requests like the generated one: %s %s %p %s is %d', async (method, path, body, type, status) => {
    const response = await api.fetch(path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': type ?? 'application/json' } }),
    })
    expect(response.status).toBe(status)
    expect(called).toEqual([])
  })
})
