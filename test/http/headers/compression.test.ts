import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { compressReply } from '../../../src/http/server/replies/compression.js'
import type { Plugin, Reply } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'

const yaml = (compression: string) => `version: 1
api: { prefix: ""${compression} }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      text: { type: text, min: 0, default: "" }
resources:
  book: { model: book, path: /books/, export: true, pagination: { page_size: 100, max_page_size: 1000 } }
`
const LONG = 'Ünïcode 😀 '.repeat(200)
const EVENTS = { 'Content-Type': 'text/event-stream' }
const REPLIES: Readonly<Record<string, () => Reply>> = {
  body: () => ({ status: 200, headers: { vary: 'Accept-Language', etag: 'W/"one"' }, body: { LONG } }),
  html: () => ({ status: 200, headers: { 'content-type': 'text/html', 'Cache-Control': 'no-store' }, text: LONG }),
  encoded: () => ({
    status: 200,
    headers: { 'Content-Encoding': 'br', 'Content-Type': 'text/plain' },
    text: brotliCompressSync(LONG),
  }),
  image: () => ({ status: 200, headers: { 'Content-Type': 'image/png' }, text: Buffer.from(LONG) }),
  kept: () => ({ status: 200, headers: { 'Cache-Control': 'no-store, No-Transform' }, text: LONG }),
  events: () => ({ status: 200, headers: EVENTS, stream: pieces(LONG) }),
  listed: () => ({ status: 200, headers: { 'Content-Range': 'books 0-9/10' }, text: LONG }),
  part: () => ({ status: 206, headers: { 'Content-Range': 'bytes 0-9/10' }, text: LONG }),
  error: () => ({ status: 422, body: { LONG } }),
  stream: () => ({ status: 200, stream: pieces('[', ...Array(50).fill(`${JSON.stringify(LONG)},`), '1]') }),
  failing: () => ({ status: 200, stream: failing() }),
}
async function* pieces(...texts: readonly string[]): AsyncGenerator<string, void> {
  for (const text of texts) yield text
}
async function* failing(): AsyncGenerator<string, void> {
  yield '['
  throw new Error('the source has failed')
}
const plugin: Plugin = (app) => {
  for (const [name, reply] of Object.entries(REPLIES)) app.route('GET', `/${name}/`, name, reply)
}

let api: Api
let plain: Api
beforeAll(async () => {
  api = await startApi(yaml(', compression: true'), { plugin })
  plain = await startApi(yaml(''), { plugin })
})
afterAll(async () => {
  await api.close()
  await plain.close()
})

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Unlike `fetch`, this leaves the bytes as they are. */
const ask = async (path: string, headers = {}, { url } = api, method = 'GET'): Promise<Answer> => {
  const request = send(url + path, { headers, method }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes: Buffer.concat(await response.toArray()),
  }
}

describe('with `api.compression`', () => {
  let path: string
  beforeEach(async () => {
    const created = await api.send('POST', '/books/', { title: 'Long', text: LONG })
    path = String(created.headers.get('location'))
  })

  test.each([
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['br;q=0, *;q=0.5', 'gzip', gunzipSync],
  ] as const)('responses are compressed for `Accept-Encoding: %s`', async (accepted, coding, decompress) => {
    for (const at of ['/books/', path, '/body/', '/html/', '/stream/', '/books/export.csv']) {
      const uncoded = await ask(at)
      const { headers, bytes } = await ask(at, { 'accept-encoding': accepted })
      expect(headers['content-encoding']).toBe(coding)
      expect(headers['vary']).toBe(uncoded.headers['vary'])
      expect(headers['vary']).toMatch(/^(Accept-Language, )?Accept-Encoding$/)
      expect(headers['content-type']).toBe(uncoded.headers['content-type'])
      if (headers['transfer-encoding'] === undefined) expect(headers['content-length']).toBe(String(bytes.length))
      expect(bytes.length).toBeLessThan(uncoded.bytes.length * 0.6)
      expect(String(decompress(bytes))).toBe(String(uncoded.bytes))
    }
  })

  test.each([undefined, 'identity', 'gzip;q=0', 'zstd'])('responses are not compressed for %s', async (accepted) => {
    for (const at of ['/books/', '/stream/', '/body/']) {
      const { headers } = await ask(at, accepted === undefined ? {} : { 'accept-encoding': accepted })
      expect(headers['content-encoding']).toBeUndefined()
      expect(headers['vary']).toMatch(/Accept-Encoding$/)
    }
  })

  test.each(['encoded', 'image', 'kept', 'events', 'part', 'error'])(
    'the response `%s` stays as it is',
    async (name) => {
      const coded = await ask(`/${name}/`, { 'accept-encoding': 'gzip, br' })
      const { headers, bytes } = await ask(`/${name}/`)
      expect(coded.bytes).toEqual(bytes)
      expect(coded.headers['content-encoding']).toBe(headers['content-encoding'])
      expect(coded.headers['vary']).toBeUndefined()
    },
  )

  test('lists that count their records in `Content-Range` are compressed', async () => {
    const { headers, bytes } = await ask('/listed/', { 'accept-encoding': 'gzip' })
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'content-range': 'books 0-9/10' })
    expect(gunzipSync(bytes).toString()).toBe(LONG)
  })

  test('short responses stay as they are', async () => {
    const created = await api.send('POST', '/books/', { title: 'Short' }, { 'accept-encoding': 'gzip' })
    expect([created.status, created.headers.get('content-encoding'), created.headers.get('vary')]).toEqual([
      201,
      null,
      null,
    ])
  })

  test('each coding has its own ETag, which conditional requests accept', async () => {
    const tagIn = async (accepted: string) => (await ask(path, { 'accept-encoding': accepted })).headers['etag'] ?? ''
    const [tag, gzip, br] = [await tagIn('identity'), await tagIn('gzip'), await tagIn('br')]
    expect([gzip, br]).toEqual([tag.replace(/"$/, '-gzip"'), tag.replace(/"$/, '-br"')])
    const known = async (accepted: string, ...tags: readonly string[]) => {
      const { status, headers } = await ask(path, { 'accept-encoding': accepted, 'if-none-match': tags.join(', ') })
      return [status, headers['etag'], headers['vary']]
    }
    expect(await known('gzip', gzip)).toEqual([304, gzip, 'Accept-Encoding'])
    expect(await known('gzip', br, gzip)).toEqual([304, gzip, 'Accept-Encoding'])
    expect(await known('gzip', tag)).toEqual([304, tag, 'Accept-Encoding'])
    // This client could not read what it is supposed to have.
    expect(await known('gzip', br)).toEqual([200, gzip, 'Accept-Encoding'])
    expect(await known('identity', br, gzip)).toEqual([200, tag, 'Accept-Encoding'])
    const change = (version: string, title: string) => api.send('PATCH', path, { title }, { 'If-Match': version })
    expect((await change(br, 'New')).status).toBe(200)
    for (const old of [tag, gzip, br]) expect((await change(old, 'Newer')).status).toBe(412)
    expect((await change(tag.replace(/"$/, '-zip"'), 'Newer')).status).toBe(412)
  })

  test('the tag of a handler has the coding too, in any spelling of the header', async () => {
    const { headers } = await ask('/body/', { 'accept-encoding': 'br' })
    expect(headers['etag']).toBe('W/"one-br"')
  })

  test.each(['/books/', '/stream/', '/books/export.json'])('HEAD %s has the headers of GET', async (at) => {
    const accepted = { 'accept-encoding': 'gzip' }
    const [head, get] = [await ask(at, accepted, api, 'HEAD'), await ask(at, accepted)]
    expect(head.bytes).toHaveLength(0)
    const compared = ['content-encoding', 'content-length', 'content-type', 'transfer-encoding', 'vary', 'etag']
    for (const name of compared) expect(head.headers[name]).toBe(get.headers[name])
  })

  test('a stream that fails before its first bytes is an error', async () => {
    const { status, headers } = await ask('/failing/', { 'accept-encoding': 'gzip' })
    expect([status, headers['content-encoding']]).toEqual([500, undefined])
  })

  test('a long export is compressed while it is read', async () => {
    await api.database.query({
      text: `insert into books (title, text) select 'Book ' || n, repeat('x', 300) || md5(n::text) from generate_series(1, 20000) n`,
      values: [],
    })
    const { bytes } = await ask('/books/export.json', { 'accept-encoding': 'gzip' })
    expect(JSON.parse(String(gunzipSync(bytes)))).toEqual(JSON.parse(String((await ask('/books/export.json')).bytes)))
  })

  test('the length before compression is known, by which large lists give way', async () => {
    const length = Buffer.byteLength(JSON.stringify({ LONG }))
    const held: number[] = []
    const { text, uncodedLength } = await compressReply(
      { status: 200, body: { LONG } },
      { method: 'GET', headers: { 'accept-encoding': 'gzip' } },
      { hold: (bytes) => void held.push(bytes), release: (bytes) => void held.push(-bytes) },
    )
    expect(uncodedLength).toBe(length)
    expect(text?.length).toBeLessThan(1000)
    // It counts as unread while it is compressed.
    expect(held).toEqual([length, -length])
  })
})

test('responses of the API are not compressed by default', async () => {
  await plain.send('POST', '/books/', { title: 'Long', text: LONG })
  for (const at of ['/books/', '/books/1/', '/body/', '/stream/']) {
    const { headers } = await ask(at, { 'accept-encoding': 'gzip, br' }, plain)
    expect(headers['content-encoding']).toBeUndefined()
    expect(headers['vary'] ?? '').not.toContain('Accept-Encoding')
  }
})
