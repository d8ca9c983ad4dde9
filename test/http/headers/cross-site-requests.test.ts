import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import type { Plugin } from '../../../src/index.js'
import { makeBookServer } from '../../support/books.js'
import { mistakesOf } from '../../support/config.js'
import { talk } from '../../support/wire.js'

const yaml = (api: string) => `version: 1
api: { prefix: /api${api} }
plugins: [./plugin.mjs]
models:
  note:
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: string, max: 20 }
resources:
  note: { model: note, path: /notes/, bulk: [create] }
`
const mounted = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200)
  response.end('mounted')
}
const plugin: Plugin = (app) => {
  app.action('note', 'stamp', { summary: 'Stamp', on: 'collection', handle: () => ({ status: 200, body: {} }) })
  app.route('POST', '/shout/', 'shout', () => ({ status: 200, body: {} }))
  app.mount('/pages/', mounted)
  app.route('POST', '/paid/', 'paid', () => ({ status: 200, body: {} }), undefined, { crossSite: true })
  app.mount('/login/', mounted, { crossSite: true })
}

let api: Api | undefined
afterEach(async () => {
  await api?.close()
  api = undefined
})

async function serve(more = '', env: Readonly<Record<string, string>> = {}, registered = plugin): Promise<Api> {
  api = await startApi(yaml(more), { plugin: registered, env, checkResponses: false })
  return api
}

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** `fetch` chooses `Host` and `Sec-Fetch-Site` by itself. */
const send = ({ url }: Pick<Api, 'url'>, { method = 'GET', path = '/api/notes/', headers = {} }: Sent) =>
  new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
    const body = method === 'POST' ? '{"text":"hello"}' : undefined
    const sent = request(`${url}${path}`, { method, headers: { 'content-type': 'application/json', ...headers } })
    sent.on('error', reject).on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode, text }))
    })
    sent.end(body)
  })

const hosted = async (server: Api, host: string) => (await send(server, { headers: { host } })).status

describe('an unknown host', () => {
  test('is rejected on loopback in development', async () => {
    const server = await serve()
    for (const host of [
      'evil.example',
      'evil.example:8000',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
    ])
      expect([host, await hosted(server, host)]).toEqual([host, 421])
    for (const host of ['localhost', 'LOCALHOST:99', '127.0.0.1:8000', '[::1]', '[::1]:8000', 'library.localhost:1'])
      expect([host, await hosted(server, host)]).toEqual([host, 200])
    const { text } = await send(server, { headers: { host: 'evil.example' } })
    expect(JSON.parse(text)).toMatchObject({
      type: '/problems/misdirected-request',
      detail: 'this server does not serve the host `evil.example`; to allow it, list it under `api.hosts`',
    })
    expect((await send(server, { path: '/pages/', headers: { host: 'evil.example' } })).status).toBe(421)
    const withPort = await send(server, { headers: { host: 'evil.example:8000' } })
    expect(JSON.parse(withPort.text)).toMatchObject({
      detail: expect.stringContaining('serve the host `evil.example`; to allow it'),
    })
  })

  test('is accepted in production unless hosts are listed', async () => {
    expect(await hosted(await serve('', { NODE_ENV: 'production' }), 'any.example')).toBe(200)
    await api?.close()
    const listed = await serve(', hosts: [api.example, "*.tenants.example"]', { NODE_ENV: 'production' })
    for (const host of ['api.example', 'API.example:443', 'a.tenants.example', 'a.b.tenants.example', 'localhost'])
      expect([host, await hosted(listed, host)]).toEqual([host, 200])
    expect(await hosted(listed, 'api.example.')).toBe(200)
    expect(await hosted(listed, '.tenants.example')).toBe(400)
    for (const host of ['any.example', 'tenants.example', 'x-api.example', 'api.example.evil.example'])
      expect([host, await hosted(listed, host)]).toEqual([host, 421])
  })

  test('is accepted if the public URL has it', async () => {
    const listed = await serve(', hosts: [other.example], public_url: "https://API.example:8443/v1"')
    expect(await hosted(listed, 'api.example')).toBe(200)
    expect(await hosted(listed, 'evil.example')).toBe(421)
  })

  test('is read from the request target if that has one', async () => {
    const server = await serve()
    const answer = async (target: string, host: string) => {
      const { answers } = await talk(server.url, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, { answers: 1 })
      return answers[0]?.status
    }
    expect(await answer('http://evil.example/api/notes/', 'localhost')).toBe(421)
    expect(await answer('http://localhost:80/api/notes/', 'evil.example')).toBe(200)
  })

  test('can be listed by its name or address', () => {
    const hosts = ['a', 'api.example', '_a.b-c.d1', '*.a.example', '10.0.0.1', '[::]', '[1:2::8]', '[::ffff:10.0.0.1]']
    expect(mistakesOf(yaml(`, hosts: ${JSON.stringify(hosts)}`))).toEqual([])
  })

  test.each([
    ...['https://api.example', 'api.example:8000', 'API.example', '*', 'a b', ''],
    ...['256.1.1.1', '1.2.3', '*.10.0.0.1', '.api.example', 'api..example', '[:::]', '[1:2:3:4:5:6:7::8:9]', '::1'],
  ])('cannot be listed as %j', (host) => {
    expect(mistakesOf(yaml(`, hosts: [${JSON.stringify(host)}]`))).toEqual([expect.stringMatching(/^2:\d+ SC20/)])
  })
})

const WRITES: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/api/notes/'],
  ['PUT', '/api/notes/1/'],
  ['PATCH', '/api/notes/1/'],
  ['DELETE', '/api/notes/1/'],
  ['POST', '/api/notes/stamp/'],
  ['POST', '/api/shout/'],
  ['POST', '/pages/'],
]

describe('a page of another site', () => {
  const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

  test('writes nothing, whatever takes the request', async () => {
    const server = await serve()
    for (const [method, path] of WRITES) {
      const { status, text } = await send(server, { method, path, headers: crossSite })
      expect([method, path, status]).toEqual([method, path, 403])
      expect(JSON.parse(text)).toMatchObject({ type: '/problems/cross-site-request' })
    }
    expect(await (await server.fetch('/api/notes/')).json()).toEqual([])
  })

  test('writes if a plugin allows it, under a known host', async () => {
    const server = await serve()
    for (const path of ['/api/paid/', '/login/', '/login/return'])
      for (const headers of [crossSite, { origin: 'null' }])
        expect([path, (await send(server, { method: 'POST', path, headers })).status]).toEqual([path, 200])
    for (const path of ['/api/paid/', '/login/']) {
      const headers = { ...crossSite, host: 'evil.example' }
      expect([path, (await send(server, { method: 'POST', path, headers })).status]).toEqual([path, 421])
    }
  })

  test('writes to a mount that allows it, behind mounts that do not', async () => {
    const asked: string[] = []
    const server = await serve('', {}, (app) => {
      app.mount('/', (request, _response, next) => {
        asked.push(String(request.method))
        next()
      })
      app.mount('/login/', mounted, { crossSite: true })
    })
    const statusOf = async (sent: Sent) => (await send(server, { method: 'POST', headers: crossSite, ...sent })).status
    expect(await statusOf({ path: '/login/' })).toBe(200)
    expect(asked).toEqual([])
    expect(await statusOf({ path: '/elsewhere/' })).toBe(403)
    expect(asked).toEqual([])
    expect(await statusOf({ path: '/elsewhere/', headers: {} })).toBe(404)
    expect(asked).toEqual(['POST'])
  })

  test('writes to a mount that does not allow it, below mounts that do', async () => {
    const server = await serve('', {}, (app) => {
      const rewrite: Parameters<typeof app.mount>[1] = (request, _response, next) => {
        if (request.url === '/old') request.url = '/hooks/admin/x'
        next()
      }
      app.mount('/', rewrite, { crossSite: true })
      app.mount('/hooks/', mounted, { crossSite: true })
      app.mount('/hooks/admin/', mounted)
    })
    for (const [path, status] of [
      ['/hooks/x', 200],
      ['/hooks/admin/x', 403],
      ['/hooks/%61dmin/x', 403],
      ['/old', 403],
    ] as const)
      expect([path, (await send(server, { method: 'POST', path, headers: crossSite })).status]).toEqual([path, status])
  })

  test('is not asked for a body that would be rejected', async () => {
    const server = await serve()
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`
    const statusesOf = async (path: string, answers: number) =>
      (await talk(server.url, head(path), { answers })).answers.map(({ status }) => status)
    expect(await statusesOf('/pages/', 1)).toEqual([403])
    expect(await statusesOf('/nowhere/', 1)).toEqual([404])
    expect(await statusesOf('/login/', 2)).toEqual([100, 200])
  })

  test('gets no URL of ours as a referrer, but our own forms send their origin', async () => {
    const server = await serve()
    // Under `no-referrer`, browsers send `Origin: null` with the forms of a page, even to its own site.
    expect((await server.fetch('/pages/')).headers.get('referrer-policy')).toBe('same-origin')
    const writeFrom = async (origin: string) =>
      (await send(server, { method: 'POST', path: '/pages/', headers: { origin } })).status
    expect([await writeFrom(server.url), await writeFrom('null')]).toEqual([200, 403])
  })

  test('is recognised by its origin if its browser sends nothing else', async () => {
    const server = await serve(
      ', cors: { origins: [https://app.example] }, trusted_proxies: [127.0.0.1], public_url: https://public.example',
    )
    const writeFrom = async (origin: string, headers = {}) => {
      const { status } = await send(server, { method: 'POST', headers: { origin, ...headers } })
      return [origin, status]
    }
    const rejected = [
      'http://evil.example',
      'https://127.0.0.1.evil.example',
      'http://localhost',
      'null',
      'file://',
      '',
    ]
    for (const origin of rejected) expect(await writeFrom(origin)).toEqual([origin, 403])
    const taken = [server.url, 'http://127.0.0.1:3000', 'https://app.example', 'https://public.example']
    for (const origin of taken) expect(await writeFrom(origin)).toEqual([origin, 201])
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' }
    expect(await writeFrom('https://shop.example', forwarded)).toEqual(['https://shop.example', 201])
    expect(await writeFrom('https://evil.example', forwarded)).toEqual(['https://evil.example', 403])
    expect(await writeFrom('https://evil.example', { 'sec-fetch-site': 'same-origin' })).toContain(201)
    expect((await send(server, { headers: { origin: 'http://evil.example' } })).status).toBe(200)
  })

  test('reads, and pages of the same site and other clients write', async () => {
    const server = await serve()
    expect((await send(server, { headers: crossSite })).status).toBe(200)
    for (const site of ['same-origin', 'same-site', 'none'])
      expect((await send(server, { method: 'POST', headers: { 'sec-fetch-site': site } })).status).toBe(201)
    expect((await send(server, { method: 'POST' })).status).toBe(201)
  })

  test('of another subdomain writes no more than one of another site', async () => {
    const server = await serve(', hosts: ["*.example.org"]')
    const writeFrom = async (origin: string, site: string) => {
      const headers = { host: 'api.example.org', origin, 'sec-fetch-site': site }
      return (await send(server, { method: 'POST', path: '/pages/', headers })).status
    }
    expect(await writeFrom('https://evil.example.org', 'same-site')).toBe(403)
    expect(await writeFrom('null', 'same-site')).toBe(403)
    for (const unknown of ['', 'SAME-SITE', 'same-site, same-origin'])
      expect(await writeFrom('https://evil.example.org', unknown)).toBe(403)
    expect(await writeFrom('https://api.example.org:3000', 'same-site')).toBe(200)
    expect(await writeFrom('https://api.example.org', 'same-origin')).toBe(200)
  })

  test('writes if its origin is listed', async () => {
    const server = await serve(', cors: { origins: [https://app.example] }')
    const from = (origin: string) => ({ 'sec-fetch-site': 'cross-site', origin })
    const writeFrom = async (origin: string) => (await send(server, { method: 'POST', headers: from(origin) })).status
    expect([await writeFrom('https://app.example'), await writeFrom('https://evil.example')]).toEqual([201, 403])
  })

  test('writes if every origin is allowed, but not by a form', async () => {
    const server = await serve(", cors: { origins: ['*'] }")
    const from = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const statusOf = async (headers: Readonly<Record<string, string>>, method = 'POST', path = '/api/shout/') =>
      (await send(server, { method, path, headers: { ...from, ...headers } })).status
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=a', 'Text/Plain ; a=b', ''])
      expect([type, await statusOf({ 'content-type': type })]).toEqual([type, 403])
    expect(await statusOf({})).toBe(200)
    expect(await statusOf({ 'content-type': 'text/plain', authorization: 'Bearer a' })).toBe(200)
    expect(await statusOf({ 'content-type': 'text/plain' }, 'DELETE', '/api/notes/1/')).toBe(404)
  })
})

test.each([
  ['no application is mounted', []],
  ['an application is mounted', [{ path: '/pages/', listener: mounted }]],
])('a server that mounts the service keeps its own paths, where %s', async (_where, mounts) => {
  const books = makeBookServer({ mounts, hosts: { admits: ({ headers }) => headers.host !== 'evil.example' } })
  const outer = createServer((request, response) => {
    books.handler(request, response, () => response.writeHead(418).end())
  }).listen(0)
  const url = `http://127.0.0.1:${(outer.address() as AddressInfo).port}`
  const answers = async (path: string, headers: Readonly<Record<string, string>>, method = 'POST') =>
    (await send({ url }, { path, method, headers })).status
  try {
    for (const headers of [{ host: 'evil.example' }, { 'sec-fetch-site': 'cross-site' }])
      expect(await answers('/elsewhere/', headers)).toBe(418)
    const own = ['/api/books/', ...mounts.map(({ path }) => path)]
    for (const path of own) {
      expect([path, await answers(path, { host: 'evil.example' }, 'GET')]).toEqual([path, 421])
      expect([path, await answers(path, { 'sec-fetch-site': 'cross-site' })]).toEqual([path, 403])
    }
  } finally {
    outer.closeAllConnections()
    outer.close()
  }
})
