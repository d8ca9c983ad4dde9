import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../../support/api.js'
import { expectSound } from '../../support/leaks.js'

// The database is closed before the first request, so whatever needs it is answered 503.
let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
  await api.database.close()
})
afterAll(() => api.close())

const JSON_TYPE = { 'content-type': 'application/json' }
const VALID = '{"title":"t","code":"c","language":"go"}'

test.each([
  ['GET', '/api/snippets-viewset/?page=0', undefined, 400],
  ['GET', '/api/snippets-viewset/?unknown=1', undefined, 400],
  ['GET', '/api/snippets-viewset/abc/', undefined, 404],
  ['GET', '/api/snippets-viewset/9223372036854775808/', undefined, 404],
  ['GET', '/api/snippets/01/', undefined, 404],
  ['GET', '/api/nothing/', undefined, 404],
  ['GET', '/api/snippets/config/', undefined, 200],
  ['OPTIONS', '/api/snippets/', undefined, 204],
  ['DELETE', '/api/snippets/', undefined, 405],
  ['DELETE', '/api/snippets/abc/', undefined, 404],
  ['POST', '/api/snippets/', '{', 400],
  ['POST', '/api/snippets/', '{}', 400],
  ['POST', '/api/snippets-viewset/', '{}', 400],
  ['PUT', '/api/snippets/1/', '{}', 422],
  ['PUT', '/api/snippets/abc/', VALID, 404],
  ['PUT', '/api/snippets-viewset/abc/', VALID, 404],
  ['PATCH', '/api/snippets-viewset/1/', '{"title":1}', 400],
])('%s %s with the body %s gets status %d without a query', async (method, path, body, status) => {
  const response = await api.fetch(path, body === undefined ? { method } : { method, body, headers: JSON_TYPE })
  expect(response.status).toBe(status)
})

test.each([
  ['GET', '/api/snippets/', undefined, 'application/json'],
  ['GET', '/api/snippets/1/', undefined, 'application/json'],
  ['POST', '/api/snippets/', VALID, 'application/json'],
  ['PUT', '/api/snippets/1/', VALID, 'application/json'],
  ['DELETE', '/api/snippets/1/', undefined, 'application/json'],
  ['GET', '/api/snippets-viewset/', undefined, 'application/problem+json'],
  ['POST', '/api/snippets-viewset/', VALID, 'application/problem+json'],
  ['PATCH', '/api/snippets-viewset/1/', '{}', 'application/problem+json'],
])('%s %s, which needs the database, gets 503 with Retry-After', async (method, path, body, type) => {
  const response = await api.fetch(path, body === undefined ? { method } : { method, body, headers: JSON_TYPE })
  const text = await response.text()
  expectSound({ status: response.status, headers: Object.fromEntries(response.headers), body: text })
  expect([response.status, response.headers.get('retry-after'), response.headers.get('content-type')]).toEqual([
    503,
    '1',
    type,
  ])
})
