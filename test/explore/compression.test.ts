import { once } from 'node:events'
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { PLUGGED } from '../support/cli.js'

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE, { checkResponses: false })
})
afterAll(() => api.close())

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Unlike `fetch`, this leaves the bytes as they are. */
const ask = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
  const [response] = (await once(get(api.url + path, { headers }), 'response')) as [IncomingMessage]
  const bytes = Buffer.concat(await response.toArray())
  return { status: response.statusCode, headers: response.headers, bytes }
}
const PATHS = [
  '/',
  '/explore/api/snippets-viewset/',
  '/explore/explore.css',
  '/docs/swagger-ui-bundle.js',
  '/openapi.json',
]

describe.each(PATHS)('%s', (path) => {
  test.each([
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['br;q=0, *;q=0.5', 'gzip', gunzipSync],
  ] as const)('is compressed for `Accept-Encoding: %s`', async (accepted, coding, decompress) => {
    const plain = await ask(path)
    const { headers, bytes } = await ask(path, { 'accept-encoding': accepted })
    expect([headers['content-encoding'], headers['vary']]).toEqual([coding, 'Accept-Encoding'])
    expect(headers['content-length']).toBe(String(bytes.length))
    expect(bytes.length).toBeLessThan(plain.bytes.length * 0.6)
    const text = String(decompress(bytes))
    // A home page says how long the database took.
    const times = /[\d.]+ ms/g
    expect(text.replaceAll(times, '')).toBe(String(plain.bytes).replaceAll(times, ''))
  })

  test.each([undefined, 'identity', 'gzip;q=0', 'zstd'])('is not compressed for %s', async (accepted) => {
    const { headers } = await ask(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
    expect([headers['content-encoding'], headers['vary']]).toEqual([undefined, 'Accept-Encoding'])
  })
})

test.each(['/explore/explore.js', '/openapi.json'])('%s has an entity tag for each coding', async (path) => {
  const tagOf = async (accepted: string) => (await ask(path, { 'accept-encoding': accepted })).headers['etag'] ?? ''
  const tags = [await tagOf('identity'), await tagOf('gzip'), await tagOf('br')]
  expect(new Set(tags).size).toBe(3)
  const again = await ask(path, { 'accept-encoding': 'br', 'if-none-match': tags[2] ?? '' })
  expect([again.status, again.bytes.length]).toEqual([304, 0])
})

test('responses of the API are not compressed', async () => {
  await api.send('POST', '/api/snippets-viewset/', { title: 'Long', code: 'x'.repeat(5000), language: 'text' })
  const { headers } = await ask('/api/snippets-viewset/', { 'accept-encoding': 'gzip, br' })
  expect(headers['content-encoding']).toBeUndefined()
})

test('what a plugin says that its page varies by is kept', async () => {
  const plugin: Plugin = (app) =>
    app.use(async (_context, next) => {
      const reply = await next()
      return { ...reply, headers: { ...reply.headers, vary: 'Cookie' } }
    })
  const other = await startApi(PLUGGED, { plugin, env: { NODE_ENV: 'development' }, checkResponses: false })
  try {
    const response = await other.fetch('/explore/api/books/', { headers: { 'accept-encoding': 'br' } })
    expect(response.headers.get('vary')).toBe('Cookie, Accept-Encoding')
  } finally {
    await other.close()
  }
})
