import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { loadApplication } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { makeProject } from '../../support/cli.js'
import { openTestDatabase } from '../../support/database.js'
import { ddlOf, specOf } from '../../support/config.js'
import type { Database } from '../../../src/internal.js'

const yaml = (api: string) => `version: 1
api: ${api}
models:
  author: { table: authors, fields: { id: { type: integer, primary_key: true }, name: { type: string, max: 50 } } }
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      author: { type: belongs_to, model: author }
resources:
  author: { model: author, path: /authors/, pagination: { page_size: 1, envelope: results } }
  book: { model: book, path: /books/, links: { author: author-detail }, filterable: [author] }
mounts:
  - { path: /drf, dialect: page }
`
const PLAIN = yaml('{ title: Books }')
const PUBLIC = yaml('{ public_url: https://api.example/v1 }')
const BEHIND = yaml('{ trusted_proxies: [127.0.0.1/32, "10.0.0.0/8", "::1/128"] }')
const BESIDE = yaml('{ trusted_proxies: [10.0.0.0/8] }')

/** Any `Host` reaches it there, as it does behind a proxy. */
const PRODUCTION = { NODE_ENV: 'production' }

let database: Database
const apis = new Map<string, Api>()
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(PLAIN)))
  await database.query({ text: `insert into authors (name) values ('Ada'), ('Bea'), ('Cleo')`, values: [] })
  await database.query({ text: 'insert into books (author_id) values (1), (2)', values: [] })
  for (const text of [PLAIN, PUBLIC, BEHIND, BESIDE])
    apis.set(text, await startApi(text, { database, env: PRODUCTION }))
})
afterAll(async () => {
  for (const api of apis.values()) await api.close()
  await database.close()
})

type Headers = Readonly<Record<string, string>>

const withoutCursor = (url: string) => url.replace(/&cursor=[\w-]+$/, '')

/** A request with headers of any name, `Host` too, which `fetch` does not send. */
const ask = (text: string, path: string, headers: Headers = {}) =>
  new Promise<{ readonly link: string; readonly next: unknown }>((resolve, reject) => {
    const sent = request(`${apis.get(text)?.url}${path}`, { headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const { next } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly next?: unknown }
        const link = /<([^>]*)>; rel="next"/.exec(String(response.headers.link))?.[1] ?? 'none'
        resolve({ link: withoutCursor(link), next: typeof next === 'string' ? withoutCursor(next) : next })
      })
    })
    sent.on('error', reject)
    sent.end()
  })

const NEXT = '/api/authors/?page=2&page_size=1'
const both = (start: string) => ({ link: start + NEXT, next: start + NEXT })

describe('links to other pages', () => {
  const spoofed = {
    host: 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'evil.example',
    forwarded: 'proto=https;host=evil.example',
  }

  test.each([
    ['without a configured URL', PLAIN],
    ['from a proxy that is not listed', BESIDE],
  ])('are paths, whatever a client sends: %s', async (_case, text) => {
    expect(await ask(text, '/api/authors/', spoofed)).toEqual(both(''))
  })

  test('are URLs of `api.public_url`, whatever a client sends', async () => {
    for (const headers of [{}, spoofed])
      expect(await ask(PUBLIC, '/api/authors/', headers)).toEqual(both('https://api.example/v1'))
    const { next, link } = await ask(PUBLIC, '/drf/books/?page_size=1')
    expect([next, link]).toEqual([link, 'https://api.example/v1/drf/books/?page=2&page_size=1'])
    const followed = await apis.get(PUBLIC)?.fetch(String(next).slice('https://api.example/v1'.length))
    expect(await followed?.json()).toMatchObject({ next: null, results: [{ id: 2 }] })
  })

  const said: readonly (readonly [headers: Headers, start: string])[] = [
    [{ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example' }, 'https://api.example'],
    [{ 'x-forwarded-proto': 'HTTP', 'x-forwarded-host': 'api.example:8080' }, 'http://api.example:8080'],
    [{ forwarded: 'for=192.0.2.1;proto=https;host="api.example:8443"' }, 'https://api.example:8443'],
    [{ forwarded: 'Proto=https; Host=api.example' }, 'https://api.example'],
    [{ forwarded: 'proto=http;host=evil.example, proto=https;host=api.example' }, 'https://api.example'],
    [{ 'x-forwarded-proto': 'http, https', 'x-forwarded-host': 'evil.example, api.example' }, 'https://api.example'],
    [{ forwarded: 'proto=https;host=evil.example', 'x-forwarded-proto': 'https' }, ''],
    [
      { forwarded: 'proto=https;host=evil.example', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example' },
      '',
    ],
    [
      { forwarded: 'proto=https;host=API.example', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example' },
      'https://api.example',
    ],
    [{ forwarded: 'for=192.0.2.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' }, ''],
    [{ host: 'evil.example', 'x-forwarded-proto': 'https' }, ''],
    [{ 'x-forwarded-host': 'api.example' }, ''],
    [{ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'api.example' }, ''],
    [{ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example/"><script>' }, ''],
    [{ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a'.repeat(256) }, ''],
    [{}, ''],
  ]

  test.each(said)('follow the headers of a listed proxy: %p', async (headers, start) => {
    expect(await ask(BEHIND, '/api/authors/', headers)).toEqual(both(start))
  })

  test('follow a listed proxy rather than `api.public_url`', async () => {
    const usual = 'https://usual.example'
    const text = yaml(`{ public_url: "${usual}", trusted_proxies: [127.0.0.1] }`)
    apis.set(text, await startApi(text, { database, env: PRODUCTION }))
    expect(await ask(text, '/api/authors/', { forwarded: 'proto=https;host=api.example' })).toEqual(
      both('https://api.example'),
    )
    expect(await ask(text, '/api/authors/', { host: 'evil.example' })).toEqual(both(usual))
  })

  test('follow a listed proxy only for hosts in `api.hosts`, if that is set', async () => {
    const text = yaml('{ hosts: [api.example, "*.books.example"], trusted_proxies: [127.0.0.1] }')
    apis.set(text, await startApi(text, { database, env: PRODUCTION }))
    for (const [host, start] of [
      ['api.example:8443', 'https://api.example:8443'],
      ['de.books.example', 'https://de.books.example'],
      ['evil.example', ''],
      ['localhost', ''],
    ] as const)
      expect(await ask(text, '/api/authors/', { forwarded: `proto=https;host="${host}"` })).toEqual(both(start))
  })

  test('are URLs of the environment, which overrides the file', async () => {
    const url = 'http://[2001:db8::1]:8080'
    const api = await startApi(PUBLIC, { database, env: { ...PRODUCTION, SNIPPETCTL_PUBLIC_URL: url } })
    apis.set('environment', api)
    expect(await ask('environment', '/api/authors/')).toEqual(both(url))
  })
})

test('a relation is shown and set by the URL of a record here, and no other', async () => {
  const api = apis.get(PUBLIC)
  const found = async (author: string) => {
    const response = await api?.fetch(`/api/books/?author=${encodeURIComponent(author)}`)
    return [response?.status, ((await response?.json()) as { readonly length?: number }).length]
  }
  expect(await found('https://api.example/v1/api/authors/1/')).toEqual([200, 1])
  expect(await found('/api/authors/1/')).toEqual([200, 1])
  for (const wrong of [
    'https://other.example/v1/api/authors/1/',
    'https://api.example/api/authors/1/',
    '//x/api/authors/1/',
  ])
    expect(await found(wrong)).toEqual([400, undefined])
  const made = await api?.send('POST', '/api/books/', { author: 'https://api.example/v1/api/authors/3/' })
  expect([made?.status, await made?.json()]).toEqual([201, { id: expect.any(Number), author: '/api/authors/3/' }])
})

test.each([
  { text: PLAIN, start: '' },
  { text: PUBLIC, start: 'https://api.example/v1' },
])('`Location` of a new record begins with the public URL: "$start"', async ({ text, start }) => {
  const made = await apis.get(text)?.send('POST', '/api/books/', { author: '/api/authors/1/' })
  const { id } = (await made?.json()) as { readonly id: number }
  expect(made?.headers.get('location')).toBe(`${start}/api/books/${id}/`)
})

describe('an invalid public URL', () => {
  const diagnosed = async (text: string, env: Headers = {}) => {
    const { folder, remove } = await makeProject({ 'resources.yaml': text })
    const loaded = await loadApplication({ file: `${folder}/resources.yaml`, env })
    await remove()
    return loaded.ok ? loaded.warnings() : loaded.diagnostics
  }

  test.each([
    ['{ public_url: api.example }', '`public_url` is malformed: `api.example`'],
    ['{ public_url: "https://api.example/" }', 'is malformed'],
    ['{ public_url: "https://user:secret@api.example" }', 'is malformed'],
    ['{ public_url: "https://api.example?x=1" }', 'is malformed'],
    ['{ public_url: "https://256.256.256.256" }', 'is malformed'],
    ['{ public_url: "https://api..example" }', 'is malformed'],
    ['{ public_url: "https://[::1::]" }', 'is malformed'],
    ['{ public_url: "https://api.example:65536" }', 'is malformed'],
    ['{ trusted_proxies: [proxy.example] }', 'item 1 of `trusted_proxies` is malformed: `proxy.example`'],
    ['{ trusted_proxies: [10.0.0.256] }', '`10.0.0.256` is not an IP address or a range of IP addresses'],
    ['{ trusted_proxies: [10.0.0.0/33] }', '`10.0.0.0/33` is not an IP address or a range of IP addresses'],
    ['{ trusted_proxies: [] }', 'must not be an empty list'],
  ])('is rejected with its position: %s', async (api, says) => {
    const [first] = await diagnosed(yaml(api))
    expect([first?.message, first?.range.start.line]).toEqual([expect.stringContaining(says), 2])
  })

  test('is rejected in the environment, by its name', async () => {
    const env = { SNIPPETCTL_PUBLIC_URL: 'api.example' }
    expect(await diagnosed(PUBLIC, env)).toMatchObject([
      { message: 'the environment variable SNIPPETCTL_PUBLIC_URL is malformed: "api.example"', code: 'SC206' },
    ])
    expect(await diagnosed(PLAIN, env)).toHaveLength(1)
  })
})
