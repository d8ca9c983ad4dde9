import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
resources:
  book: { model: book, path: /books/, bulk: [create, partial_update], idempotency: optional }
  sparse: { model: book, path: /sparse/, sparse_fields: true }
  lax: { model: book, path: /lax/, unknown_query: ignore }
  panel: { model: book, path: /panel/, dialect: simple-rest }
  lax_panel: { model: book, path: /lax-panel/, dialect: simple-rest, unknown_query: ignore }
  own: { model: book, path: /own/ }
`
const plugin: Plugin = (app) => {
  app.replace('own', 'retrieve', async () => ({ status: 200, body: {} }))
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
  expect((await api.send('POST', '/api/books/', { title: 'One' })).status).toBe(201)
})
afterAll(() => api.close())

const send = async (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => {
  const reply = await (body === undefined
    ? api.fetch(path, { method, ...(headers && { headers }) })
    : api.send(method, path, body, headers))
  return { status: reply.status, text: await reply.text() }
}
const titles = async () => (await send('GET', '/api/books/')).text

describe('an operation without query parameters rejects any before it does anything', () => {
  test.each<[method: string, path: string, body: unknown]>([
    ['GET', '/api/books/1/?x=1', undefined],
    ['HEAD', '/api/books/1/?x=1', undefined],
    ['POST', '/api/books/?x=1', { title: 'Two' }],
    ['POST', '/api/books/?x=1', [{ title: 'Two' }]],
    ['PATCH', '/api/books/?x=1', [{ id: 1, title: 'Two' }]],
    ['PUT', '/api/books/1/?x=1', { title: 'Two' }],
    ['PATCH', '/api/books/1/?x=1', { title: 'Two' }],
    ['DELETE', '/api/books/1/?x=1', undefined],
    ['DELETE', '/api/books/99/?x=1', undefined],
    ['DELETE', '/api/books/1/?a&x', undefined],
    ['GET', '/api/own/1/?x=1', undefined],
    ['PUT', '/api/sparse/1/?x=1', { title: 'Two' }],
  ])('%s %s', async (method, path, body) => {
    const before = await titles()
    const { status, text } = await send(method, path, body)
    expect(status).toBe(400)
    if (method !== 'HEAD')
      expect(JSON.parse(text)).toMatchObject({
        type: '/problems/invalid-query',
        detail: `this endpoint has no query parameters; got \`${path.includes('?a') ? 'a' : 'x'}\``,
      })
    expect(await titles()).toBe(before)
  })

  test('stores no response for the key of a rejected request', async () => {
    const key = { 'idempotency-key': 'once' }
    expect((await send('POST', '/api/books/?x=1', { title: 'Kept' }, key)).status).toBe(400)
    expect((await send('POST', '/api/books/', { title: 'Kept' }, key)).status).toBe(201)
  })

  test.each([
    ['=1', 'a query parameter has no name'],
    ['%ff=1', 'is not percent-encoded UTF-8'],
  ])('rejects invalid parameters: %s', async (search, says) => {
    const { status, text } = await send('GET', `/api/books/1/?${search}`)
    expect([status, text]).toEqual([400, expect.stringContaining(says)])
  })
})

test.each([
  ['GET', '/api/panel/1/?fields=id', 'fields'],
  ['GET', '/api/panel/1/?x=1&expand=author', 'expand'],
  ['PUT', '/api/panel/1/?fields=id', 'fields'],
  ['DELETE', '/api/panel/1/?expand=author', 'expand'],
  ['POST', '/api/panel/?fields=id', 'fields'],
])('a record in a dialect rejects `fields` and `expand`, as its list does: %s %s', async (method, path, name) => {
  const { status, text } = await send(
    method,
    path,
    method === 'GET' || method === 'DELETE' ? undefined : { title: 'A' },
  )
  expect([status, text]).toEqual([400, expect.stringContaining(`\`${name}\` is not a parameter here`)])
  expect((await send('GET', `/api/panel/?${name}=id`)).status).toBe(400)
})

test.each([
  ['an empty query', '/api/books/1/?', '"title":"One"'],
  ['a query of separators', '/api/books/1/?&&', '"title":"One"'],
  ['a resource that ignores unknown parameters', '/api/lax/1/?x=1', '"title":"One"'],
  ['a dialect, whose clients send parameters to every path', '/api/panel/1/?x=1', '"title":"One"'],
  ['`fields` of a dialect that ignores unknown parameters', '/api/lax-panel/1/?fields=id', '"title":"One"'],
])('no parameter is reported for %s', async (_what, path, shows) => {
  const { status, text } = await send('GET', path)
  expect([status, text]).toEqual([200, expect.stringContaining(shows)])
})
