import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type BookServer, LIMIT, startBooks } from '../../support/books.js'
import { expectCleanPrototype } from '../../support/leaks.js'
import { createConnection, type Socket } from 'node:net'
import { dial, receive, talk } from '../../support/wire.js'
import { waitUntil } from '../../support/wait-until.js'

let books: BookServer

beforeAll(async () => {
  books = await startBooks({ limits: { requestTimeout: 1_200, headersTimeout: 800, lingerTimeout: 200 } })
})

afterEach(async () => {
  expectCleanPrototype()
  expect(books.errors).toEqual([])
  const { answers } = await talk(books.url, request('GET', '/api/books/'))
  expect(answers).toEqual([expect.objectContaining({ status: 200 })])
})

afterAll(() => books.drain())

const OK_BODY = '{"title":"t"}'

/** A request with the headers that every one needs; it asks for the connection to be closed. */
function request(method: string, target: string, headers: readonly string[] = [], body = ''): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: books.example', 'Connection: close', ...headers]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

function post(headers: readonly string[], body = OK_BODY, target = '/api/books/'): string {
  return request('POST', target, [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`, ...headers], body)
}

const JSON_TYPE = 'Content-Type: application/json'
const UPGRADE = ['Connection: keep-alive, Upgrade', 'Upgrade: h2c']

/** A time in ms in which a test that waited for it would fail. */
const TOO_LONG = 600_000
const PATIENT = {
  headersTimeout: TOO_LONG,
  requestTimeout: TOO_LONG,
  idleTimeout: TOO_LONG,
  keepAliveTimeout: TOO_LONG,
}

async function answerTo(bytes: string, methods: readonly string[] = []) {
  const received = await talk(books.url, bytes, { methods })
  expect(received.rest).toBe('')
  expect(received.closed).toBe(true)
  expect(received.answers).toHaveLength(1)
  const [answer] = received.answers
  if (!answer) throw new Error('no answer')
  return answer
}

describe('paths and methods', () => {
  test.each([
    ['GET', '/api/books/', 200],
    ['GET', '/api/books', 200],
    ['GET', '/api/books/7/', 200],
    ['GET', '/api/books/7', 200],
    ['GET', '/api/books/config/', 200],
    ['GET', 'http://other.example/api/books/', 200],
    ['GET', 'HTTP://other.example:99/api/books/?a=b', 200],
    ['GET', 'http://other.example', 404],
    ['GET', '/', 404],
    ['GET', '//api/books/', 404],
    ['GET', '/./api/books/', 404],
    ['GET', '/api//books/', 404],
    ['GET', '/api/books//', 404],
    ['GET', '/api/books/7//', 404],
    ['GET', '/API/BOOKS/', 404],
    ['GET', '/api/books/%37/', 404],
    ['GET', '/api/books/%00/', 404],
    ['GET', '/api/books/%/', 404],
    ['GET', '/api/books/%c0%af/', 404],
    ['GET', '/api/books/..%2f7/', 404],
    ['GET', '/api/books/constructor/', 404],
    ['GET', '/api/books/__proto__/', 404],
    ['GET', '/api/__proto__/', 404],
    ['GET', '/api/books/7/;a=b', 404],
    ['GET', '/api/b ooks/', 400],
    ['GET', '/api/b\xffooks/', 400],
    ['OPTIONS', '*', 204],
    ['GET', '*', 404],
    ['CONNECT', 'other.example:80', 400],
    ['FOO', '/api/books/', 400],
    ['TRACE', '/api/books/', 405],
    ['TRACE', '/elsewhere/', 405],
    ['PROPFIND', '/api/books/', 405],
    ['PATCH', '/api/books/7/', 405],
    ['POST', '/api/books/7/', 405],
    ['DELETE', '/api/books/7/', 204],
  ])('answers %s %s', async (method, target, status) => {
    expect(await answerTo(request(method, target))).toMatchObject({ status })
  })

  test.each([
    [15_000, 404],
    [20_000, 431],
  ])('responds to a path of %i characters with %i', async (length, status) => {
    expect(await answerTo(request('GET', `/${'a'.repeat(length)}`))).toMatchObject({ status })
  })

  test.each([
    ['PUT', '/api/books/', 405, 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/api/books', 405, 'GET, HEAD, POST, OPTIONS'],
    ['PATCH', '/api/books/7/', 405, 'GET, HEAD, PUT, DELETE, OPTIONS'],
    ['GET', '/api/plain/', 405, 'POST, PUT, OPTIONS'],
    ['HEAD', '/api/plain/', 405, 'POST, PUT, OPTIONS'],
    ['OPTIONS', '/api/books/', 204, 'GET, HEAD, POST, OPTIONS'],
    ['OPTIONS', '/api/books/7/', 204, 'GET, HEAD, PUT, DELETE, OPTIONS'],
  ])('to %s %s lists the methods of the path', async (method, target, status, allow) => {
    const answer = await answerTo(request(method, target), [method])
    expect(answer).toMatchObject({ status, headers: { allow } })
    if (status === 204) expect(answer.headers).not.toHaveProperty('content-length')
  })

  test.each(['/api/books/', '/api/books/7/', '/api/books/x/', '/nowhere/'])(
    'responds to HEAD %s as to GET, without the body',
    async (target) => {
      const id = 'X-Request-Id: request-1'
      const get = await answerTo(request('GET', target, [id]))
      const head = await answerTo(request('HEAD', target, [id]), ['HEAD'])
      expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' })
      expect(head.status).toBe(get.status)
      expect(head.body).toBe('')
    },
  )

  test('does not name the path that was not found', async () => {
    const { body } = await answerTo(request('GET', '/secret-name/'))
    expect(body).not.toContain('secret-name')
    expect(JSON.parse(body)).toMatchObject({ type: '/problems/not-found', status: 404, title: 'Not found' })
  })

  test('ignores method overrides', async () => {
    const answer = await answerTo(post([JSON_TYPE, 'X-HTTP-Method-Override: DELETE']))
    expect(answer.status).toBe(201)
  })
})

test('cuts a rejected client that does not close its side', async () => {
  const server = await startBooks({ limits: { ...PATIENT, lingerTimeout: 50 } })
  const { hostname, port } = new URL(server.url)
  const socket = createConnection({ host: hostname, port: Number(port), allowHalfOpen: true })
  const received = receive(socket)
  socket.write('nonsense\r\n\r\n')
  expect((await received).answers.map(({ status }) => status)).toEqual([400])
  const count = () =>
    new Promise<number>((resolve, reject) =>
      server.server.getConnections((error, open) => (error ? reject(error) : resolve(open))),
    )
  await waitUntil(async () => (await count()) === 0)
  socket.destroy()
  await server.drain()
})

describe('request heads', () => {
  const raw = (lines: string, body = '') => `${lines.replaceAll('\n', '\r\n')}\r\n\r\n${body}`
  const many = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: 1`)

  test.each([
    ['no Host', raw('GET /api/books/ HTTP/1.1'), 400],
    ['no Host in HTTP/1.0', raw('GET /api/books/ HTTP/1.0'), 200],
    ['two Host headers', raw('GET /api/books/ HTTP/1.1\nHost: a\nHost: a'), 400],
    ['two Host headers, one in capitals', raw('GET /api/books/ HTTP/1.1\nHost: a\nHOST: b'), 400],
    ['an empty Host', raw('GET /api/books/ HTTP/1.1\nHost:'), 400],
    ['a Host with a space', raw('GET /api/books/ HTTP/1.1\nHost: a b'), 400],
    ['an incomplete address as Host', raw('GET /api/books/ HTTP/1.1\nHost: [::1'), 400],
    ['an IPv6 address as Host', raw('GET /api/books/ HTTP/1.1\nHost: [::1]:80\nConnection: close'), 200],
    ['100 headers', request('GET', '/api/books/', many(98)), 200],
    ['101 headers', request('GET', '/api/books/', many(99)), 431],
    ['1,500 headers', request('GET', '/api/books/', many(1_500)), 431],
    ['a head of 20 kB', request('GET', '/api/books/', [`X-Long: ${'a'.repeat(20_000)}`]), 431],
    ['headers named like prototypes', request('GET', '/api/books/', ['__proto__: x', 'constructor: y']), 200],
    ['a NUL', request('GET', '/api/books/', ['X-A: a\0b']), 400],
    ['an escape sequence in the request id', request('GET', '/api/books/', ['X-Request-Id: \x1b[31mred-alert']), 400],
    ['a bare CR', request('GET', '/api/books/', ['X-A: a\rb']), 400],
    ['a folded header', request('GET', '/api/books/', ['X-A: a\r\n b']), 400],
    ['a space before the colon', request('GET', '/api/books/', ['X-A : a']), 400],
    [
      'Transfer-Encoding in HTTP/1.0',
      raw(
        'POST /api/books/ HTTP/1.0\nTransfer-Encoding: chunked\nContent-Type: application/json',
        '2\r\n{}\r\n0\r\n\r\n',
      ),
      400,
    ],
    ['a host of 255 characters', request('GET', '/api/books/').replace('books.example', `${'a.'.repeat(127)}a`), 200],
    ['a host of 256 characters', request('GET', '/api/books/').replace('books.example', `${'a.'.repeat(127)}aa`), 400],
    ['an expectation in HTTP/1.0', 'GET /api/books/ HTTP/1.0\r\nHost: a\r\nExpect: patience\r\n\r\n', 200],
    ['a request line that ends in LF alone', 'GET /api/books/ HTTP/1.1\nHost: a\n\n', 400],
    ['a request line in HTTP/1.0 that ends in LF alone', 'GET /api/books/ HTTP/1.0\nHost: a\n\n', 400],
    ['a header that ends in LF alone', 'GET /api/books/ HTTP/1.1\r\nHost: a\n\r\n', 400],
    ['a space after the version', 'GET /api/books/ HTTP/1.1 \r\nHost: a\r\n\r\n', 400],
    ['HTTP/1.11', 'GET /api/books/ HTTP/1.11\r\nHost: a\r\n\r\n', 400],
    ['HTTP/3', 'GET /api/books/ HTTP/3\r\nHost: a\r\n\r\n', 505],
    ['HTTP/1.2', 'GET /api/books/ HTTP/1.2\r\nHost: a\r\n\r\n', 505],
    ['HTTP/3.0', 'GET /api/books/ HTTP/3.0\r\nHost: a\r\n\r\n', 505],
    ['Content-Length and Transfer-Encoding', post(['Transfer-Encoding: chunked', JSON_TYPE]), 400],
    ['two Content-Length headers', post(['Content-Length: 5', JSON_TYPE]), 400],
    ['a Content-Length with a sign', request('POST', '/api/books/', ['Content-Length: +5', JSON_TYPE], '12345'), 400],
    [
      'a Content-Length that is a list',
      request('POST', '/api/books/', ['Content-Length: 5,5', JSON_TYPE], '12345'),
      400,
    ],
    ['a negative Content-Length', request('POST', '/api/books/', ['Content-Length: -1', JSON_TYPE]), 400],
    [
      'a Content-Length of 2^64',
      request('POST', '/api/books/', ['Content-Length: 18446744073709551616', JSON_TYPE]),
      400,
    ],
    ['an unknown expectation', request('GET', '/api/books/', ['Expect: 200-maybe']), 417],
    ['a known and an unknown expectation', post(['Expect: 100-continue, more', JSON_TYPE]), 417],
    ['a WebSocket upgrade', request('GET', '/api/books/', ['Upgrade: websocket']), 200],
    ['a range', request('GET', '/api/books/', ['Range: bytes=0-10']), 200],
    ['a foreign origin', request('GET', '/api/books/', ['Origin: http://attacker.example']), 200],
    ['a cookie of 8 kB', request('GET', '/api/books/', [`Cookie: ${'a'.repeat(8_000)}`]), 200],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an SSH banner', 'SSH-2.0-OpenSSH_9.2\r\n', 400],
  ])('answers %s correctly', async (_what, bytes, status) => {
    expect(await answerTo(bytes)).toMatchObject({ status })
  })

  test.each(['xchunked', 'chunked, identity', 'chunked, chunked', 'gzip, chunked', 'identity'])(
    'rejects the transfer coding %s and everything after it',
    async (coding) => {
      const before = books.written.length
      const bytes = request(
        'POST',
        '/api/books/',
        [`Transfer-Encoding: ${coding}`, JSON_TYPE],
        `0\r\n\r\n${post([JSON_TYPE])}`,
      )
      const answer = await answerTo(bytes)
      expect([400, 501]).toContain(answer.status)
      expect(answer.headers.connection).toBe('close')
      expect(books.written).toHaveLength(before)
    },
  )

  test.each([
    ['9 characters', 'request-1', true],
    ['every kind of character', 'A.b_c-12345', true],
    ['5 characters', 'short', false],
    ['65 characters', 'a'.repeat(65), false],
    ['a space', 'with space', false],
    ['10 kB', 'a'.repeat(10_000), false],
  ])('accepts a request id only if it is valid: %s', async (_what, id, taken) => {
    const { headers } = await answerTo(request('GET', '/api/books/', [`X-Request-Id: ${id}`]))
    expect(headers['x-request-id'] === id).toBe(taken)
    expect(books.logged.at(-1)).toMatchObject({
      event: 'request',
      request_id: headers['x-request-id'],
      route: 'book/api/books/',
      status: 200,
    })
  })

  test('sends exactly these headers', async () => {
    const { headers } = await answerTo(request('GET', '/api/books/'))
    expect(Object.keys(headers).sort()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-security-policy',
      'content-type',
      'cross-origin-resource-policy',
      'date',
      'referrer-policy',
      'x-content-type-options',
      'x-request-id',
    ])
    expect(headers['content-type']).toBe('application/json')
  })

  test('logs neither the query nor a header', async () => {
    await answerTo(request('GET', '/api/books/?q=canary-1', ['Authorization: canary-2']))
    expect(JSON.stringify(books.logged)).not.toContain('canary')
  })
})

describe('bodies', () => {
  test.each([
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['application/json;', 201],
    ['application/json; charset=utf-8;', 201],
    ['application/json;;', 415],
    ['Application/JSON;charset=UTF-8', 201],
    ['application/json; charset="UTF-8"', 201],
    ['application/json; charset=utf8', 201],
    ['application/json \t; charset=utf-8', 201],
    ['application/json; charset=utf-16le', 415],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json; charset="utf-8', 415],
    ['application/json garbage', 415],
    ['application/json"x"; charset=utf-8', 415],
    ['application/json\t; x', 415],
    ['application/json; x=y', 415],
    ['application/json, application/json', 415],
    ['text/plain', 415],
    ['application/vnd.api+json', 415],
    ['application/merge-patch+json', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['json', 415],
    ['', 415],
  ])('accepts or rejects the media type %j', async (mediaType, status) => {
    expect(await answerTo(post([`Content-Type: ${mediaType}`]))).toMatchObject({ status })
  })

  test.each([
    ['no Content-Type', post([]), 415],
    ['two Content-Type headers', post([JSON_TYPE, 'Content-Type: text/plain']), 415],
    ['no Content-Type where none is needed', post([], OK_BODY, '/api/plain/').replace('POST', 'PUT'), 200],
    ['gzip', post([JSON_TYPE, 'Content-Encoding: gzip']), 415],
    ['two content codings', post([JSON_TYPE, 'Content-Encoding: identity, gzip']), 415],
    ['the identity coding', post([JSON_TYPE, 'Content-Encoding: identity']), 201],
    [
      'a part of a record',
      post([JSON_TYPE, 'Content-Range: bytes 0-1/9'], OK_BODY, '/api/plain/').replace('POST', 'PUT'),
      400,
    ],
    ['Content-Range without PUT, which has no meaning', post([JSON_TYPE, 'Content-Range: bytes 0-1/9']), 201],
    ['an empty body', post([JSON_TYPE], ''), 400],
    ['no body', request('POST', '/api/books/', [JSON_TYPE]), 400],
    ['a body of the maximum size', post([JSON_TYPE], OK_BODY.padEnd(LIMIT)), 201],
    ['a body one byte above the limit', post([JSON_TYPE], OK_BODY.padEnd(LIMIT + 1)), 413],
    ['a body announced as 10 MB', request('POST', '/api/books/', ['Content-Length: 10485760', JSON_TYPE]), 413],
    [
      'chunks',
      request(
        'POST',
        '/api/books/',
        ['Transfer-Encoding: chunked', JSON_TYPE],
        '6\r\n{"titl\r\n7\r\ne":"t"}\r\n0\r\n\r\n',
      ),
      201,
    ],
    ['an invalid chunk size', request('POST', '/api/books/', ['Transfer-Encoding: chunked', JSON_TYPE], 'ZZ\r\n'), 400],
    [
      'a chunk that never arrives',
      request('POST', '/api/books/', ['Transfer-Encoding: chunked', JSON_TYPE], '6\r\n{"titl\r\n'),
      408,
    ],
    ['a body that never completes', request('POST', '/api/books/', ['Content-Length: 100', JSON_TYPE], '1234'), 408],
    ['a head that never completes', 'GET /api/books/ HTTP/1.1\r\nHost: a\r\n', 408],
    ['an incomplete request line', 'GET /', 408],
  ])('answers %s', async (_what, bytes, status) => {
    expect(await answerTo(bytes)).toMatchObject({ status })
  })

  test('responds with 413 before it has read a large body', async () => {
    const body = `{"title":"${'a'.repeat(4_000_000)}"}`
    expect(await answerTo(post([JSON_TYPE], body))).toMatchObject({ status: 413, headers: { connection: 'close' } })
  })

  test('counts a body without a length while reading it', async () => {
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    const answer = await answerTo(
      request('POST', '/api/books/', ['Transfer-Encoding: chunked', JSON_TYPE], chunk.repeat(200)),
    )
    expect(answer).toMatchObject({ status: 413, headers: { connection: 'close' } })
  })

  test.each([
    { how: 'closes the connection instead of reading a large body', body: 'Content-Length: 10000000', then: 'close' },
    { how: 'closes the connection after a body of unknown length', body: 'Transfer-Encoding: chunked', then: 'close' },
    { how: 'keeps the connection after a small body', body: 'Content-Length: 1000', then: 'keep-alive' },
  ])('an early rejection $how', async ({ body, then }) => {
    const head = `POST /nowhere/ HTTP/1.1\r\nHost: books.example\r\n${body}\r\n\r\n`
    const { answers } = await talk(books.url, head, { answers: 1 })
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toEqual([[404, then]])
  })

  test('stops reading a rejected body of unknown length', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const socket = dial(books.url)
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('POST /nowhere/ HTTP/1.1\r\nHost: books.example\r\nTransfer-Encoding: chunked\r\n\r\n')
    const sendOn = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', sendOn).resume()
    sendOn()
    await closed
    // The rest is in the buffers of both ends.
    expect(socket.bytesWritten).toBeLessThan(20_000_000)
  })

  const PIECE = ' '.repeat(0x10000)
  const CHUNK = `10000\r\n${PIECE}\r\n`
  test.each([
    { name: 'the rest', framing: ['Transfer-Encoding: chunked'], piece: CHUNK, last: '0\r\n\r\n' },
    {
      name: 'a body without waiting for 100 Continue',
      framing: [`Content-Length: ${4 * PIECE.length}`, 'Expect: 100-continue'],
      piece: PIECE,
      last: PIECE,
    },
  ])('reads on after an early rejection, so that a client that sends $name sees the response', async (sent) => {
    const { framing, piece, last } = sent
    const patient = await startBooks({ limits: { lingerTimeout: 10_000 } })
    const socket = dial(patient.url)
    try {
      const answered = receive(socket, { answers: 1 })
      socket.write(request('POST', '/api/books/', [...framing, JSON_TYPE], piece.repeat(2)))
      expect((await answered).answers).toMatchObject([{ status: 413 }])
      expect(patient.logged).toMatchObject([{ event: 'request', status: 413, aborted: undefined }])
      socket.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(socket.closed).toBe(false)
      socket.write(last)
      expect((await receive(socket)).closed).toBe(true)
    } finally {
      socket.destroy()
      await patient.drain()
    }
  })

  test('sends 100 Continue unless it will reject the request', async () => {
    const expecting = (length: number) =>
      request('POST', '/api/books/', [`Content-Length: ${length}`, JSON_TYPE, 'Expect: 100-continue'])
    const asked = await talk(books.url, expecting(OK_BODY.length) + OK_BODY)
    expect(asked.answers.map(({ status }) => status)).toEqual([100, 201])
    const rejected = await talk(books.url, expecting(LIMIT + 1))
    expect(rejected.answers.map(({ status }) => status)).toEqual([413])
    const wrongType = await talk(books.url, expecting(5).replace(JSON_TYPE, 'Content-Type: text/plain'))
    expect(wrongType.answers.map(({ status }) => status)).toEqual([415])
    expect(wrongType.closed).toBe(true)
  })

  test('renders errors in the format of their path', async () => {
    const type = 'Content-Type: application/json'
    const plain = await answerTo(post([type], '{', '/api/plain/'))
    expect(plain).toMatchObject({ status: 400, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(plain.body)).toEqual({ error: 'the body is not valid JSON at line 1, column 2' })
    const document = await answerTo(post([type], '{'))
    expect(document).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } })
    expect(JSON.parse(document.body)).toEqual({
      type: '/problems/malformed-body',
      title: 'Malformed body',
      status: 400,
      detail: 'the body is not valid JSON at line 1, column 2',
      message: 'the body is not valid JSON at line 1, column 2',
      request_id: document.headers['x-request-id'],
    })
    const closed = await answerTo(request('GET', '/api/plain').replace('Host: books.example', 'Host: a b'))
    expect(closed.headers['content-type']).toBe('application/json')
  })
})

describe('bytes that are not a request', () => {
  test.each([
    ['a header without a colon', 'GET /api/plain/ HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n', 400],
    ['an unknown version', 'GET /api/plain HTTP/7.5\r\n\r\n', 505],
    ['a request target with a host', 'GET http://books.example/api/plain/?a=b HTTP/1.1\r\nno colon\r\n\r\n', 400],
    ['a head that is too large', request('GET', '/api/plain/', [`X-Pad: ${'a'.repeat(20_000)}`]), 431],
    ['two Content-Length headers', request('PUT', '/api/plain/', ['Content-Length: 1', 'Content-Length: 2'], '1'), 400],
  ])('are rejected in the format of their path: %s', async (_what, bytes, status) => {
    const plain = await answerTo(bytes)
    expect(plain).toMatchObject({ status, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(plain.body)).toEqual({ error: expect.stringMatching(/\w/) })
    const document = await answerTo(bytes.replace('/api/plain', '/api/books'))
    expect(document).toMatchObject({ status, headers: { 'content-type': 'application/problem+json' } })
  })

  test.each([
    ['a request line without a path', 'BAD\r\n\r\n', 400],
    ['a head that never completes', 'GET /api/plain/ HTTP/1.1\r\nHost: a\r\n', 408],
  ])('are rejected with a problem document if their path is unknown: %s', async (_what, bytes, status) => {
    const { status: given, headers } = await answerTo(bytes)
    expect([given, headers['content-type']]).toEqual([status, 'application/problem+json'])
  })
})

describe('connections', () => {
  const get = (target: string) => request('GET', target).replace('Connection: close\r\n', '')

  test('answers pipelined requests in order and skips unread bodies', async () => {
    const body = '{"a":"GET /api/books/9/ HTTP/1.1"}'
    const ignored = ['GET', 'DELETE'].map((method) =>
      request(method, '/api/books/3/', [`Content-Length: ${body.length}`], body).replace('Connection: close\r\n', ''),
    )
    const bytes = [
      get('/api/books/1/'),
      ...ignored,
      post([JSON_TYPE]).replace('Connection: close\r\n', ''),
      request('GET', '/api/books/4/'),
    ]
    const { answers, closed } = await talk(books.url, bytes.join(''))
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, '{"id":1}'],
      [200, '{"id":3}'],
      [204, ''],
      [201, OK_BODY],
      [200, '{"id":4}'],
    ])
    expect(closed).toBe(true)
  })

  test('answers 100 pipelined requests up to the malformed one, and then closes', async () => {
    const good = Array.from({ length: 50 }, (_, index) => get(`/api/books/${index}/`))
    const create = post([JSON_TYPE]).replace('Connection: close\r\n', '')
    const before = books.written.length
    const { answers, closed } = await talk(books.url, [...good, create, 'BAD\r\n\r\n', ...good, create].join(''))
    expect(answers.map(({ status }) => status)).toEqual([...good.map(() => 200), 201, 400])
    expect(closed).toBe(true)
    expect(books.written).toHaveLength(before + 1)
  })

  test('ignores a request after one that closes the connection', async () => {
    const before = books.written.length
    const twoHosts = get('/api/books/').replace('Host: ', 'Host: a\r\nHost: ')
    const { answers } = await talk(books.url, twoHosts + post([JSON_TYPE]))
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(books.written).toHaveLength(before)
  })

  test.each([
    { method: 'GET', upgraded: request('GET', '/api/books/3/', UPGRADE), body: '{"id":3}' },
    { method: 'POST', upgraded: post([JSON_TYPE, ...UPGRADE]), body: OK_BODY },
  ])('answers the requests up to a $method to upgrade, and then closes the connection', async ({ upgraded, body }) => {
    const kept = [get('/api/books/1/'), upgraded, get('/api/books/4/')].map((one) =>
      one.replace('Connection: close\r\n', ''),
    )
    const { answers, closed } = await talk(books.url, kept.join(''))
    expect(answers).toMatchObject([
      { body: '{"id":1}', headers: { connection: 'keep-alive' } },
      { body, headers: { connection: 'close' } },
    ])
    expect(closed).toBe(true)
  })

  test.each([
    ['HTTP/1.0', '', true],
    ['HTTP/1.0', 'Connection: keep-alive\r\n', false],
    ['HTTP/1.1', '', false],
    ['HTTP/1.1', 'Connection: close\r\n', true],
  ])('keeps or closes a connection of %s with %j', async (version, header, closes) => {
    const { answers, closed } = await talk(
      books.url,
      `GET /api/books/ ${version}\r\nHost: a\r\n${header}\r\n`,
      closes ? {} : { answers: 1 },
    )
    expect(answers).toMatchObject([{ status: 200, headers: { connection: closes ? 'close' : 'keep-alive' } }])
    expect(closed).toBe(closes)
  })

  test('answers a client that has closed its sending side', async () => {
    const socket = dial(books.url)
    socket.end(get('/api/books/7/'))
    const { answers } = await receive(socket)
    expect(answers).toMatchObject([{ status: 200, body: '{"id":7}' }])
  })

  test('does not log an error if a client leaves in the middle of its body', async () => {
    const before = books.logged.length
    const socket = dial(books.url)
    socket.write(request('POST', '/api/books/', ['Content-Length: 100', JSON_TYPE], '1234'), () =>
      socket.resetAndDestroy(),
    )
    await waitUntil(async () => {
      await talk(books.url, 'x')
      return books.logged.length > before
    })
    expect(books.errors).toEqual([])
  })

  test.each([
    ['that has closed its sending side', (socket: Socket) => socket.end('BAD\r\n\r\n'), TOO_LONG],
    ['that closes its side after the response', (socket: Socket) => socket.write('BAD\r\n\r\n'), TOO_LONG],
    ['that never closes its side', (socket: Socket) => socket.write('BAD\r\n\r\n'), 50],
  ])('ends a connection with invalid bytes and a client %s', async (_client, send, lingerTimeout) => {
    const other = await startBooks({ limits: { lingerTimeout } })
    const { hostname, port } = new URL(other.url)
    const socket = createConnection({ host: hostname, port: Number(port), allowHalfOpen: true })
    try {
      send(socket)
      expect((await receive(socket)).answers).toMatchObject([{ status: 400 }])
      if (lingerTimeout === TOO_LONG) socket.end()
      const open = () => new Promise((resolve) => other.server.getConnections((_error, count) => resolve(count)))
      await waitUntil(open, (count) => count === 0)
    } finally {
      socket.destroy()
      await other.drain()
    }
  })

  test('survives a CONNECT whose connection is reset', async () => {
    const connect = request('CONNECT', 'b.example:80')
    const resets = [
      (socket: Socket) => socket.write(connect, () => socket.resetAndDestroy()),
      (socket: Socket) => {
        socket.write(connect)
        socket.once('data', () => socket.resetAndDestroy())
      },
    ]
    for (const reset of resets) {
      const socket = dial(books.url)
      reset(socket)
      await new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()))
      expect((await talk(books.url, get('/api/books/7/'), { answers: 1 })).answers).toMatchObject([{ status: 200 }])
    }
  })

  test('answers the requests before a CONNECT, and then closes the connection', async () => {
    const { answers, closed } = await talk(books.url, post([JSON_TYPE]) + request('CONNECT', 'b.example:80'))
    expect(answers).toMatchObject([{ status: 201, headers: { connection: 'close' } }])
    expect(closed).toBe(true)
  })

  test('survives connections that are reset immediately', async () => {
    const sockets = Array.from({ length: 200 }, () => dial(books.url))
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<void>((resolve) => {
            socket.on('close', () => resolve()).on('error', () => {})
            socket.on('connect', () => socket.write('GET / HT', () => socket.resetAndDestroy()))
          }),
      ),
    )
    expect(books.logged.filter(({ event }) => event === 'client_error').length).toBeLessThanOrEqual(1)
  })
})
