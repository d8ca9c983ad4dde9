import {
  createServer as createHttpServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from 'node:http'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { createServer as createNetServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import express from 'express'
import type { Mount } from '../../../src/http/server/fallback.js'
import type { Handler, Reply } from '../../../src/http/route.js'
import { Problem } from '../../../src/foundation/problem.js'
import { type BookServer, makeBookServer, startBooks } from '../../support/books.js'
import { expectSound } from '../../support/leaks.js'
import { dial, receive, talk } from '../../support/wire.js'
import { waitUntil } from '../../support/wait-until.js'

let open: Pick<BookServer, 'drain'>[] = []

async function serve(options: Parameters<typeof startBooks>[0]): Promise<BookServer> {
  const server = await startBooks(options)
  open.push(server)
  return server
}

afterEach(async () => {
  await Promise.all(open.map((server) => server.drain()))
  open = []
})

function serveHandler(handle: Handler, limits = {}): Promise<BookServer> {
  return serve({ routes: [['GET', '/api/test/', handle]], limits })
}

async function get(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  const { status, statusText: reason } = response
  const answer = { status, reason, headers: Object.fromEntries(response.headers), body: await response.text() }
  expectSound(answer)
  return answer
}

async function* pieces(...texts: readonly (string | Error)[]): AsyncGenerator<string> {
  for (const text of texts) {
    if (text instanceof Error) throw text
    yield text
  }
}

const never = () => new Promise<never>(() => {})

function circular(): object {
  const value: Record<string, unknown> = {}
  value.self = { value }
  return value
}

describe('a response', () => {
  test.each<[string, Reply, string]>([
    ['a value', { status: 200, body: { a: [1, 'b', null] } }, '{"a":[1,"b",null]}'],
    ['text', { status: 201, text: '[1]' }, '[1]'],
    ['text with emoji', { status: 200, text: '"😀"' }, '"😀"'],
    ['a large integer', { status: 200, body: { id: 9007199254740993n } }, '{"id":9007199254740993}'],
    [
      'nested large integers',
      { status: 200, body: { a: [{ b: 2n ** 63n }, -1n], c: 'd', e: undefined, f: [undefined], 'g"': new Date(0) } },
      '{"a":[{"b":9223372036854775808},-1],"c":"d","f":[null],"g\\"":"1970-01-01T00:00:00.000Z"}',
    ],
    ['a response without a body', { status: 202 }, ''],
    ['a stream', { status: 200, stream: pieces('[', '1,', '2', ']') }, '[1,2]'],
    ['an empty stream', { status: 200, stream: pieces() }, ''],
  ])('is sent: %s', async (_what, reply, body) => {
    const { url } = await serveHandler(() => reply)
    const answer = await get(`${url}/api/test/`)
    expect(answer).toMatchObject({ status: reply.status, body })
    expect(answer.headers['content-type']).toBe(reply.status === 202 ? undefined : 'application/json')
    expect(answer.headers['content-length']).toBe(reply.stream ? undefined : String(Buffer.byteLength(body)))
  })

  test('may replace a header, and add one', async () => {
    const { url } = await serveHandler(() => ({
      status: 200,
      body: 1,
      headers: { 'cache-control': 'no-store', Link: '</>' },
    }))
    const { answers } = await talk(url, 'GET /api/test/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answers).toMatchObject([{ headers: { 'cache-control': 'no-store', link: '</>' } }])
  })

  test.each<[string, () => unknown]>([
    ['is undefined', () => undefined],
    ['is null', () => null],
    ['is only text', () => 'done'],
    ['is circular', () => ({ status: 200, body: circular() })],
    ['is circular with a large integer', () => ({ status: 200, body: { a: 1n, b: circular() } })],
    ['has an undefined body', () => ({ status: 200, body: undefined })],
    ['has a function as body', () => ({ status: 200, body: () => 1 })],
    ['has the status 999', () => ({ status: 999, body: 1 })],
    ['has the status 100', () => ({ status: 100 })],
    ['has no status', () => ({ body: 1 })],
    ['has a body with 204', () => ({ status: 204, body: 1 })],
    ['splits a header with a line break', () => ({ status: 200, body: 1, headers: { Link: 'a\r\nSet-Cookie: b' } })],
    ['has a header with an invalid name', () => ({ status: 200, body: 1, headers: { 'a b': 'c' } })],
    ['sets Content-Length', () => ({ status: 200, body: 1, headers: { 'Content-Length': '5' } })],
    ['is a stream that fails immediately', () => ({ status: 200, stream: pieces(new Error('canary')) })],
    [
      'is a stream that fails before its first chunk is full',
      () => ({ status: 200, stream: pieces('[1,', new Error('canary')) }),
    ],
    [
      'throws',
      () => {
        throw new Error('canary')
      },
    ],
    [
      'throws null',
      () => {
        throw null
      },
    ],
    [
      'throws text',
      () => {
        throw 'canary'
      },
    ],
    [
      "throws another framework's error",
      () => {
        throw Object.assign(new Error('select canary'), { status: 404, statusCode: 404, expose: true })
      },
    ],
    ['rejects', () => Promise.reject(new Error('canary'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
  ])('that %s is a logged 500 without details', async (_what, handle) => {
    const { url, errors } = await serveHandler(handle as Handler)
    const answer = await get(`${url}/api/test/`)
    expect(answer).toMatchObject({
      status: 500,
      reason: 'Internal Server Error',
      headers: { 'content-type': 'application/problem+json' },
    })
    expect(answer.body).not.toContain('canary')
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(errors).toMatchObject([
      { event: 'failure', type: 'internal', request_id: answer.headers['x-request-id'], route: 'book/api/test/' },
    ])
    expect(await get(`${url}/api/books/`)).toMatchObject({ status: 200 })
  })

  test('for a problem has its headers and its errors', async () => {
    const errors = [
      { field: 'title', message: 'Title is required' },
      { field: '__proto__', message: 'no such field' },
    ]
    const { url, errors: logged } = await serveHandler(() => {
      throw new Problem('unavailable', 'the database is away', { errors, headers: { 'Retry-After': '1' } })
    })
    const answer = await get(`${url}/api/test/`)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(answer.body).toContain('"errors":{"title":"Title is required","__proto__":"no such field"}')
    expect(logged).toEqual([])
  })
})

describe('a stream', () => {
  const large = 'x'.repeat(20_000)

  /** A stream that fails once the client has its head. */
  const serveFailing = async () => {
    let arrived = () => {}
    const head = new Promise<void>((resolve) => (arrived = resolve))
    async function* cut() {
      yield* pieces(large, large)
      await head
      throw new Error('canary')
    }
    return { ...(await serveHandler(() => ({ status: 200, stream: cut() }))), arrived: () => arrived() }
  }

  test('that fails midway is cut, so that it does not look complete', async () => {
    const { url, errors, arrived } = await serveFailing()
    const response = await fetch(`${url}/api/test/`)
    expect(response.status).toBe(200)
    arrived()
    await expect(response.text()).rejects.toThrow()
    expect(errors).toMatchObject([{ event: 'failure', type: 'internal' }])
  })

  test('that fails midway resets the connection of a client with HTTP/1.0, which knows no incomplete body', async () => {
    const { url, arrived } = await serveFailing()
    const socket = dial(url)
    socket.once('data', arrived)
    socket.write('GET /api/test/ HTTP/1.0\r\n\r\n')
    const [error] = await once(socket, 'error')
    expect(error).toMatchObject({ code: 'ECONNRESET' })
  })

  test('is read as fast as the client reads, and ends when the client leaves', async () => {
    let made = 0
    let ended = () => {}
    const end = new Promise<void>((resolve) => (ended = resolve))
    async function* endless() {
      try {
        for (;;) {
          made += 1
          yield large
        }
      } finally {
        ended()
      }
    }
    const { url, errors } = await serveHandler(() => ({ status: 200, stream: endless() }))
    const socket = dial(url)
    socket.write('GET /api/test/ HTTP/1.1\r\nHost: a\r\n\r\n')
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    await get(`${url}/api/books/`)
    // Loopback buffers take some megabytes.
    expect(made).toBeLessThan(1_000)
    socket.destroy()
    await end
    expect(errors).toEqual([])
  })

  test('is not limited by the handler timeout once it has begun', async () => {
    async function* slow() {
      yield large
      await new Promise((resolve) => setTimeout(resolve, 120))
      yield 'end'
    }
    const { url } = await serveHandler(() => ({ status: 200, stream: slow() }), { handlerTimeout: 40 })
    expect((await get(`${url}/api/test/`)).body).toBe(`${large}end`)
  })

  test('sends each event when it happens', async () => {
    let happen = () => {}
    async function* events() {
      yield 'data: 1\n\n'
      await new Promise<void>((resolve) => (happen = resolve))
      yield 'data: 2\n\n'
    }
    const headers = { 'content-type': 'Text/Event-Stream; charset=utf-8' }
    const { url } = await serveHandler(() => ({ status: 200, headers, stream: events() }), { handlerTimeout: 1000 })
    const { body } = await fetch(`${url}/api/test/`)
    const reader = body?.getReader()
    const next = async () => Buffer.from((await reader?.read())?.value ?? '').toString()
    expect(await next()).toBe('data: 1\n\n')
    happen()
    expect(await next()).toBe('data: 2\n\n')
  })

  test("responds to HEAD without a body, and with GET's error", async () => {
    const { url } = await serve({
      routes: [
        ['GET', '/api/good/', () => ({ status: 200, stream: pieces(large) })],
        ['GET', '/api/bad/', () => ({ status: 200, stream: pieces(new Problem('unavailable')) })],
      ],
    })
    expect(await get(`${url}/api/good/`, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    expect(await get(`${url}/api/bad/`, { method: 'HEAD' })).toMatchObject({ status: 503, body: '' })
  })

  test.each([
    ['HTTP/1.1', 'short'],
    ['HTTP/1.1', large],
    ['HTTP/1.0', 'short'],
  ])("responds to HEAD for %s with GET's headers", async (version, text) => {
    const { url } = await serve({ routes: [['GET', '/api/good/', () => ({ status: 200, stream: pieces(text) })]] })
    const headOf = async (method: string) => {
      const socket = dial(url)
      let head = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => (head += chunk))
      socket.write(`${method} /api/good/ ${version}\r\nHost: a\r\nX-Request-Id: request-1\r\nConnection: close\r\n\r\n`)
      await new Promise((resolve) => socket.once('close', resolve))
      const [lines = '', body] = head.split('\r\n\r\n')
      return {
        lines: lines
          .split('\r\n')
          .filter((line) => !line.startsWith('Date:'))
          .sort(),
        body,
      }
    }
    const [get, head] = [await headOf('GET'), await headOf('HEAD')]
    expect(head).toEqual({ lines: get.lines, body: '' })
    expect(get.lines.includes('Transfer-Encoding: chunked')).toBe(version === 'HTTP/1.1')
  })

  test.each([
    { name: 'a server', compression: false },
    { name: 'a server that compresses', compression: true },
  ])('of Node is closed by $name if its client has left', async ({ compression }) => {
    const stream = Readable.from(['1'])
    const handle = async () => {
      await waitUntil(() => logged.length > 0)
      return { status: 200, stream }
    }
    const { url, server, logged } = await serve({ routes: [['GET', '/api/test/', handle]], compression })
    server.once('request', ({ socket }) => socket.destroy())
    await talk(url, 'GET /api/test/ HTTP/1.1\r\nHost: a\r\n\r\n')
    await waitUntil(() => stream.destroyed)
  })

  test('is sent unchunked to an HTTP/1.0 client', async () => {
    const { url } = await serveHandler(() => ({ status: 200, stream: pieces('[1]') }))
    const { rest } = await talk(url, 'GET /api/test/ HTTP/1.0\r\n\r\n')
    expect(rest).toBe('[1]')
  })
})

describe('the handler timeout', () => {
  test.each<[string, Handler]>([
    ['that never returns', never],
    ['whose stream never starts', () => ({ status: 200, stream: { [Symbol.asyncIterator]: () => ({ next: never }) } })],
  ])('ends a handler %s', async (_what, handle) => {
    const { url, errors } = await serveHandler(handle, { handlerTimeout: 30, drainTimeout: 50 })
    const answer = await get(`${url}/api/test/`)
    expect(answer.status).toBe(504)
    expect(JSON.parse(answer.body)).toMatchObject({ type: '/problems/timeout' })
    expect(errors).toMatchObject([{ event: 'failure', type: 'timeout' }])
  })

  test('drops everything that the handler does afterwards', async () => {
    let answerLate = (_reply: Reply) => {}
    const { url } = await serveHandler(() => new Promise<Reply>((resolve) => (answerLate = resolve)), {
      handlerTimeout: 30,
    })
    const socket = dial(url)
    socket.write('GET /api/test/ HTTP/1.1\r\nHost: a\r\n\r\n')
    const first = receive(socket, { answers: 1 })
    expect((await first).answers).toMatchObject([{ status: 504 }])
    answerLate({ status: 200, body: 'late' })
    socket.write('GET /api/books/7/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect((await receive(socket)).answers).toMatchObject([{ status: 200, body: '{"id":7}' }])
  })

  test('excludes the time in which the body arrives', async () => {
    const { url } = await serve({ limits: { handlerTimeout: 40 } })
    const socket = dial(url)
    socket.write(
      'POST /api/books/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{',
    )
    const answer = receive(socket)
    await new Promise((resolve) => setTimeout(resolve, 120))
    socket.write('}')
    expect((await answer).answers).toMatchObject([{ status: 201, body: '{}' }])
  })
})

describe('requests that no route matches', () => {
  const mounts = (): readonly Mount[] => {
    const router = express.Router()
    router.get('/hello', (_request, response) => void response.send('hello'))
    router.get('/throws', () => {
      throw new Error('canary')
    })
    router.get('/rejects', () => Promise.reject(new Error('canary')))
    router.get('/conflicts', () => {
      throw new Problem('conflict', 'not now')
    })
    router.get('/never', () => {})
    router.get('/:name', (request, response) => void response.json({ name: request.params.name }))
    return [
      { path: '/docs/', listener: router },
      {
        path: '/raw',
        listener: (request: IncomingMessage, response: ServerResponse) => void response.end(request.url),
      },
    ]
  }

  test.each([
    ['/docs/hello', 200, 'hello'],
    ['/docs/other', 200, '{"name":"other"}'],
    ['/raw/a/b?c=d', 200, '/a/b?c=d'],
    ['/api/books/7/', 200, '{"id":7}'],
    ['/DOCS/hello', 404, undefined],
    ['/docs/', 404, undefined],
    ['/elsewhere', 404, undefined],
    ['/docs/throws', 500, undefined],
    ['/docs/rejects', 500, undefined],
    ['/docs/conflicts', 409, undefined],
    ['/docs/never', 504, undefined],
    ['/docs/%zz', 400, undefined],
  ])('go to mounted applications: %s', async (path, status, body) => {
    const { url } = await serve({ mounts: mounts(), limits: status === 504 ? { handlerTimeout: 200 } : {} })
    const answer = await get(url + path)
    expect(answer).toMatchObject(body === undefined ? { status } : { status, body })
    expect(answer.body).not.toContain('canary')
  })

  test('are logged with the error of an application that writes after its response', async () => {
    const twice = (_request: IncomingMessage, response: ServerResponse) => void response.end('1').end('2')
    const { url, errors } = await serve({ mounts: [{ path: '/twice', listener: twice }] })
    expect(await get(`${url}/twice`, { headers: { 'x-request-id': 'request-1' } })).toMatchObject({ status: 200 })
    const cause = expect.objectContaining({ code: 'ERR_STREAM_WRITE_AFTER_END' })
    expect(errors).toEqual([{ event: 'failure', request_id: 'request-1', cause }])
  })

  test('do not include paths that have routes, whatever is mounted around them', async () => {
    const { url } = await serve({
      mounts: [{ path: '/', listener: (_request, response) => void response.end('mounted') }],
    })
    expect(await get(`${url}/api/books/`, { method: 'DELETE' })).toMatchObject({ status: 405 })
    expect(await get(`${url}/other`)).toMatchObject({ status: 200, body: 'mounted' })
  })

  test('go to the Express application that the service is mounted in', async () => {
    const books = makeBookServer()
    const outer = express()
    outer.use('/service', (request, response, next) => books.handler(request, response, next))
    outer.use((_request, response) => void response.status(418).send('outer'))
    const server = createHttpServer(outer).listen(0)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      expect(await (await fetch(`${url}/service/api/books/7/`)).json()).toEqual({ id: 7 })
      const created = await fetch(`${url}/service/api/books/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"a":1}',
      })
      expect([created.status, await created.json()]).toEqual([201, { a: 1 }])
      expect((await fetch(`${url}/service/api/books/`, { method: 'PUT' })).status).toBe(405)
      const passed = await fetch(`${url}/service/nowhere`)
      expect([passed.status, await passed.text(), passed.headers.get('content-security-policy')]).toEqual([
        418,
        'outer',
        null,
      ])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test.each([
    ['of a known length', 'Content-Length: 7\r\n\r\n{"a":1}'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n0\r\n\r\n'],
  ])('log why, if a body parser in front of the service has read a body %s', async (_how, body) => {
    const books = makeBookServer()
    const outer = express()
      .disable('x-powered-by')
      .use(express.json(), (request, response) => books.handler(request, response))
    const server = createHttpServer(outer).listen(0)
    try {
      const { port } = server.address() as AddressInfo
      const head = 'PUT /api/plain/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n'
      const { answers } = await talk(`http://127.0.0.1:${port}`, head + body)
      expect(answers).toMatchObject([{ status: 500 }])
      const message = 'the body was read by something in front of the service; mount the service before body parsers'
      expect(books.errors).toMatchObject([{ type: 'internal', cause: { message } }])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

describe('a server', () => {
  test('reports why it cannot listen', async () => {
    const taken = createNetServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as AddressInfo
    await expect(makeBookServer().listen({ port, host: '127.0.0.1' })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port,
    })
    taken.close()
  })

  test.each([
    ['/docs/a', '/a'],
    ['/docs/a?b=c', '/a?b=c'],
    ['/docs/a?', '/a'],
    ['http://books.example/docs/a?b=c', '/a?b=c'],
  ])('passes the rest of the URL to a mounted listener: %s', async (target, rest) => {
    const { url } = await serve({
      mounts: [{ path: '/docs/', listener: ({ url }, response) => void response.end(url) }],
    })
    const { answers } = await talk(url, `GET ${target} HTTP/1.1\r\nHost: books.example\r\n\r\n`, { answers: 1 })
    expect(answers.map(({ body }) => body)).toEqual([rest])
  })

  test.each(['http://books.example', 'http://books.example?a=b', '/?a=b'])(
    'has its root at a target without a path: %s',
    async (target) => {
      const { url } = await serve({ routes: [['GET', '/', ({ search }) => ({ status: 200, body: search })]] })
      const { answers } = await talk(url, `GET ${target} HTTP/1.1\r\nHost: books.example\r\n\r\n`, { answers: 1 })
      expect(answers).toMatchObject([{ status: 200, body: target.includes('?') ? '"a=b"' : '""' }])
    },
  )

  test('logs a thousand characters of a long path', async () => {
    const { url, logged } = await serve({})
    await fetch(`${url}/${'a'.repeat(999)}`)
    await fetch(`${url}/${'a'.repeat(1_000)}`)
    await waitUntil(() => logged.length >= 2)
    expect(logged).toMatchObject([{ path: `/${'a'.repeat(999)}` }, { path: `/${'a'.repeat(999)}...` }])
  })

  test.each([
    ['handled', '/api/books/'],
    ['mounted', '/docs/'],
  ])('closes a connection after its last request (%s), and ignores later ones', async (_what, path) => {
    const { url, written } = await serve({
      limits: { requestsPerConnection: 3 },
      mounts: [{ path: '/docs/', listener: (_request, response) => void response.end('{}') }],
    })
    const one = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    const write =
      'POST /api/books/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'
    const { answers, closed, rest } = await talk(url, one + one + one + write + one)
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toEqual([
      [200, 'keep-alive'],
      [200, 'keep-alive'],
      [200, 'close'],
    ])
    expect({ closed, rest, written }).toEqual({ closed: true, rest: '', written: [] })
  })

  test('drains: finishes requests in progress, closes idle connections, and accepts none', async () => {
    let answerNow = (_reply: Reply) => {}
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const { url, drain } = await serveHandler(() => {
      arrived()
      return new Promise<Reply>((resolve) => (answerNow = resolve))
    })
    const idle = dial(url)
    idle.write('GET /api/books/ HTTP/1.1\r\nHost: a\r\n\r\n')
    await receive(idle, { answers: 1 })
    const idleClosed = receive(idle)
    const busy = dial(url)
    busy.write('GET /api/test/ HTTP/1.1\r\nHost: a\r\n\r\n')
    await arrival
    const answer = receive(busy)
    const drained = drain()
    await expect(
      new Promise((resolve, reject) => httpRequest(url, resolve).on('error', reject).end()),
    ).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    answerNow({ status: 200, body: 'in time' })
    expect(await answer).toMatchObject({
      closed: true,
      answers: [{ status: 200, body: '"in time"', headers: { connection: 'close' } }],
    })
    await drained
    expect(await idleClosed).toMatchObject({ closed: true, answers: [] })
  })

  test('closes what does not finish within the drain timeout', async () => {
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const { url, drain, logged } = await serveHandler(
      () => {
        arrived()
        return never()
      },
      { drainTimeout: 50 },
    )
    const socket = dial(url)
    socket.write('GET /api/test/ HTTP/1.1\r\nHost: a\r\n\r\n')
    const answer = receive(socket)
    await arrival
    await drain()
    expect(await answer).toMatchObject({ answers: [], closed: true })
    expect(logged.at(-1)).toMatchObject({ event: 'request', route: 'book/api/test/', aborted: true })
  })

  test('drains without waiting for connections on which nothing was sent', async () => {
    const { url, drain } = await serve({ limits: { drainTimeout: 3_600_000 } })
    const silent = dial(url)
    await new Promise((resolve) => silent.once('connect', resolve))
    const closed = new Promise((resolve) => silent.once('close', resolve))
    await get(`${url}/api/books/`)
    await drain()
    await closed
  })

  test.each([
    ['the rest of a head', 'GET /api/books/7/ HTTP/1.1\r\n', 'Host: a\r\n\r\n'],
    [
      'the rest of a body',
      'POST /api/books/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{',
      '"id":7}',
    ],
  ])('waits for %s while it drains', async (_what, first, rest) => {
    const { url, drain } = await serve({ limits: { drainTimeout: 3_600_000 } })
    const [idle, slow] = [dial(url), dial(url)]
    slow.write(first)
    idle.write('GET /api/books/ HTTP/1.1\r\nHost: a\r\n\r\n')
    const idleClosed = new Promise((resolve) => idle.once('close', resolve))
    await receive(idle, { answers: 1 })
    const answer = receive(slow)
    const drained = drain()
    await idleClosed
    slow.write(rest)
    expect(await answer).toMatchObject({ answers: [{ body: '{"id":7}', headers: { connection: 'close' } }] })
    await drained
  })

  test('answers a request that arrives as the drain begins', async () => {
    const { url, drain } = await serve({ limits: { drainTimeout: 3_600_000 } })
    const socket = dial(url)
    socket.write('GET /api/books/ HTTP/1.1\r\nHost: a\r\n\r\n')
    await receive(socket, { answers: 1 })
    const drained = drain()
    socket.write('GET /api/books/7/ HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await receive(socket)).toMatchObject({ answers: [{ status: 200, headers: { connection: 'close' } }] })
    await drained
  })

  test('drains at once if it never listened', async () => {
    await expect(makeBookServer().drain()).resolves.toBeUndefined()
  })
})
