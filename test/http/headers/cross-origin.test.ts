import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'

const APP = 'http://app.example'

const config = (cors: string) => `
version: 1
api:
  title: Books${cors}
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
resources:
  book: { model: book, path: /books/ }
`

const corsHeaders = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))

const ask = (api: Api, origin: string, path = '/api/books/', init: RequestInit = {}) =>
  api.fetch(path, { ...init, headers: { origin, ...(init.headers as Record<string, string>) } })

const preflight = (api: Api, origin: string, path = '/api/books/') =>
  ask(api, origin, path, {
    method: 'OPTIONS',
    headers: {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'range,content-type,authorization',
    },
  })

describe('without `cors`', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(config(''))
  })
  afterAll(() => api.close())

  test('no response has headers for other origins', async () => {
    const answers = await Promise.all([ask(api, APP), ask(api, APP, '/nowhere/'), preflight(api, APP)])
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200])
    expect(answers.map(corsHeaders)).toEqual([{}, {}, {}])
    expect(answers.map(({ headers }) => headers.get('vary'))).toEqual([null, null, null])
  })
})

describe('with listed origins', () => {
  let api: Api
  beforeAll(async () => {
    const cors = `\n  cors: { origins: ["${APP}", "https://other.example:8443"], credentials: true, headers: [X-Tenant] }`
    api = await startApi(config(cors))
  })
  afterAll(() => api.close())

  test.each([
    ['a response', '/api/books/', 200],
    ['an error', '/api/books/?nothing=1', 400],
    ['an unknown path', '/nowhere/', 404],
  ])('%s can be read by a listed origin', async (_, path, status) => {
    const answer = await ask(api, APP, path)
    expect(answer.status).toBe(status)
    expect(corsHeaders(answer)).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': expect.stringMatching(
        /Content-Range.*X-Total-Count.*ETag.*Allow.*Content-Disposition/,
      ),
    })
    expect(answer.headers.get('vary')).toBe('Origin')
  })

  test.each([
    'http://app.example.attacker.example',
    'http://attacker.example',
    'https://app.example',
    'http://app.example:80',
    'HTTP://APP.EXAMPLE',
    'null',
    '*',
    '',
  ])('the origin %j gets no headers', async (origin) => {
    for (const answer of [await ask(api, origin), await preflight(api, origin)]) {
      expect(corsHeaders(answer)).toEqual({})
      expect(answer.headers.get('vary')).toBe('Origin')
    }
  })

  test('a preflight gets the methods of the path and the allowed request headers (promise 16)', async () => {
    const answer = await preflight(api, 'https://other.example:8443')
    expect(answer.status).toBe(204)
    expect(corsHeaders(answer)).toMatchObject({
      'access-control-allow-origin': 'https://other.example:8443',
      'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
      'access-control-allow-headers': expect.stringMatching(
        /Authorization.*Content-Type.*If-Match.*Range.*Idempotency-Key.*X-Tenant/,
      ),
      'access-control-max-age': '600',
    })
  })
})

test("a handler's `Vary` is kept, and its headers for other origins are replaced", async () => {
  const headers = { Vary: 'Accept-Language', 'Access-Control-Allow-Origin': '*' }
  const plugin: Plugin = (app) => app.route('GET', '/own/', 'own', () => ({ status: 200, body: [], headers }))
  const text = config(`\n  cors: { origins: ["${APP}"] }\nplugins: [./plugin.mjs]`)
  const api = await startApi(text, { plugin })
  try {
    const answer = await ask(api, APP, '/api/own/')
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    expect(answer.headers.get('vary')).toBe('Accept-Language, Origin')
  } finally {
    await api.close()
  }
})

test('with `*`, every origin may read, without credentials', async () => {
  const api = await startApi(config(`\n  cors: { origins: ["*"], max_age: 5 }`))
  try {
    const answer = await ask(api, 'http://any.example')
    expect(corsHeaders(answer)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
    })
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    expect((await preflight(api, 'null')).headers.get('access-control-max-age')).toBe('5')
  } finally {
    await api.close()
  }
})
