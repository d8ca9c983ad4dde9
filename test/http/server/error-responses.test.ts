import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { compileCors } from '../../../src/http/headers/cors.js'
import { createTraffic, DURATIONS } from '../../../src/http/connections/traffic.js'
import { type BookServer, LIMIT, startBooks } from '../../support/books.js'
import { talk } from '../../support/wire.js'

let books: BookServer

beforeAll(async () => {
  books = await startBooks({
    limits: { requestTimeout: 400, headersTimeout: 300, lingerTimeout: 100 },
    routes: [
      ['PATCH', '/api/books/{id}/', async (context) => ({ status: 200, body: (await context.body(PATCHES)).keys })],
      ['GET', '/', () => ({ status: 200, body: 'the root' })],
      ['GET', '/api/odd/{kind}/', ({ params }) => ODD[params.kind ?? ''] ?? { status: 204 }],
    ],
  })
})

afterAll(() => books.drain())

const PATCHES = { mediaTypes: ['application/json', 'application/merge-patch+json'], optional: false, limit: LIMIT }

/** What no handler may answer. */
const ODD: Readonly<Record<string, { status: number; headers?: Record<string, string>; body?: object }>> = {
  low: { status: 199 },
  high: { status: 600 },
  half: { status: 200.5 },
  body: { status: 204, body: {} },
  unchanged: { status: 304, body: {} },
  length: { status: 200, headers: { 'Content-Length': '5' }, body: {} },
  connection: { status: 200, headers: { connection: 'keep-alive' }, body: {} },
  coding: { status: 200, headers: { 'Transfer-Encoding': 'chunked' }, body: {} },
  alive: { status: 200, headers: { 'Keep-Alive': 'timeout=5' }, body: {} },
  id: { status: 200, headers: { 'X-Request-ID': 'mine' }, body: {} },
}

const TYPE = 'application/json'
const JSON_TYPE = `Content-Type: ${TYPE}`
const noType = (more = '') => `the request has no Content-Type; it must be ${TYPE}${more}`

function request(method: string, target: string, headers: readonly string[] = [], body = ''): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: books.example', 'Connection: close', ...headers]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

const sending = (method: string, body: string, ...headers: readonly string[]) =>
  request(
    method,
    method === 'POST' ? '/api/books/' : '/api/books/7/',
    [`Content-Length: ${body.length}`, ...headers],
    body,
  )

const raw = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`
const chunked = (coding: string) => request('POST', '/api/books/', [`Transfer-Encoding: ${coding}`, JSON_TYPE], '0\r\n')

describe('a rejected request gets an explanation', () => {
  test.each<[what: string, bytes: string, type: string, detail: string, headers?: Readonly<Record<string, string>>]>([
    ['no Host header', raw('GET /api/books/ HTTP/1.1'), 'malformed-request', 'the request has no Host header'],
    [
      'two Host headers',
      raw('GET /api/books/ HTTP/1.1', 'Host: a', 'HOST: b'),
      'malformed-request',
      'the request has more than one Host header',
    ],
    [
      'an invalid Host',
      raw('GET /api/books/ HTTP/1.1', 'Host: a/b'),
      'malformed-request',
      'the Host header is not a host name with an optional port',
    ],
    ...['.example.org', 'a..b', 'a.-b', '256.256.256.256', '1.2.3', '127.1', '0x7f', '[:::]', '[1::2::3]'].map(
      (host): [string, string, string, string] => [
        `the Host ${host}`,
        raw('GET /api/books/ HTTP/1.1', `Host: ${host}`),
        'malformed-request',
        'the Host header is not a host name with an optional port',
      ],
    ),
    ...['http:///api/books/', 'http://me@a/api/books/', 'http://.example.org/', 'http://a:b/'].map(
      (target): [string, string, string, string] => [
        `the target ${target}`,
        request('GET', target),
        'malformed-request',
        'the host in the request target is not a host name with an optional port',
      ],
    ),
    [
      'another version of HTTP',
      raw('GET /api/books/ HTTP/2.0', 'Host: a'),
      'unsupported-version',
      'only HTTP 1.1 and 1.0 are supported',
    ],
    [
      'an invalid Host next to an absolute request target',
      raw('GET /api/books/ HTTP/1.1', 'Host: a[::1]:80'),
      'malformed-request',
      'the Host header is not a host name with an optional port',
    ],
    [
      'a Host whose port is too long',
      raw('GET /api/books/ HTTP/1.1', 'Host: a:123456'),
      'malformed-request',
      'the Host header is not a host name with an optional port',
    ],
    [
      'too many headers',
      request(
        'GET',
        '/api/books/',
        Array.from({ length: 99 }, (_, index) => `X-${index}: 1`),
      ),
      'headers-too-large',
      'a request may have at most 100 headers',
    ],
    [
      'a head that is too large',
      request('GET', '/api/books/', [`X-Pad: ${'a'.repeat(20_000)}`]),
      'headers-too-large',
      'the head of the request is too large',
    ],
    ['CONNECT', request('CONNECT', 'b.example:80'), 'malformed-request', 'this server is not a proxy'],
    [
      'an expectation',
      request('GET', '/api/books/', ['Expect: more']),
      'expectation-failed',
      'the only supported expectation is 100-continue',
    ],
    [
      'another transfer coding',
      chunked('gzip, chunked'),
      'unsupported-transfer',
      'the only supported transfer coding is chunked',
    ],
    ['a request that is not HTTP', 'NOTHING\r\n\r\n', 'malformed-request', 'the request is not valid HTTP/1.1'],
    [
      'a head that never completes',
      'GET /api/books/ HTTP/1.1\r\nHost: a\r\n',
      'request-timeout',
      'the request did not arrive in time',
    ],
    [
      'a body that never completes',
      request('POST', '/api/books/', ['Content-Length: 9', JSON_TYPE], '{'),
      'request-timeout',
      'the request did not arrive in time',
    ],
    ['an unknown path', request('GET', '/x/'), 'not-found', 'there is nothing at this path'],
    ['GET *', request('GET', '*'), 'not-found', 'there is nothing at this path'],
    [
      'a path with a letter that is not ASCII',
      'GET /api/books/?search=caf\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'malformed-request',
      'the address of the request must be a path that starts with `/`, or a URL, in visible ASCII, where `é` is written %C3%A9',
    ],
    [
      'a path without its first slash',
      'GET api/books/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'malformed-request',
      'the address of the request must be a path that starts with `/`, or a URL, in visible ASCII, where `é` is written %C3%A9',
    ],
    [
      'a request line with a prefix',
      '1GET /api/plain/ HTTP/1.1\r\n\r\n',
      'malformed-request',
      'the request is not valid HTTP/1.1',
    ],
    [
      'another method',
      request('PUT', '/api/books/'),
      'method-not-allowed',
      'this path only allows GET, HEAD, POST, OPTIONS',
      { allow: 'GET, HEAD, POST, OPTIONS' },
    ],
    [
      'TRACE',
      request('TRACE', '/x/'),
      'method-not-allowed',
      'this path only allows GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    ],
    [
      'a POST without a Content-Type',
      sending('POST', '{}'),
      'unsupported-media-type',
      noType(),
      { 'accept-post': TYPE },
    ],
    ['a PUT without a Content-Type', sending('PUT', '{}'), 'unsupported-media-type', noType(), { accept: TYPE }],
    [
      'a PATCH without a Content-Type',
      sending('PATCH', '{}'),
      'unsupported-media-type',
      noType(' or application/merge-patch+json'),
      { 'accept-patch': `${TYPE}, application/merge-patch+json` },
    ],
    [
      'another Content-Type',
      sending('POST', '{}', 'Content-Type: text/plain'),
      'unsupported-media-type',
      'Content-Type must be application/json, without parameters other than charset=utf-8',
      { 'accept-post': TYPE },
    ],
    [
      'two Content-Type headers',
      sending('POST', '{}', JSON_TYPE, 'content-type: text/plain'),
      'unsupported-media-type',
      'the request has more than one Content-Type',
    ],
    [
      'a content coding',
      sending('POST', '{}', JSON_TYPE, 'Content-Encoding: gzip'),
      'unsupported-media-type',
      'the body must be sent without Content-Encoding',
    ],
    [
      'a body that is too large',
      request('POST', '/api/books/', [`Content-Length: ${LIMIT + 1}`, JSON_TYPE]),
      'body-too-large',
      `the body must be at most ${LIMIT} bytes`,
    ],
    [
      'chunks that are too large in total',
      request(
        'POST',
        '/api/books/',
        ['Transfer-Encoding: chunked', JSON_TYPE],
        `10001\r\n${' '.repeat(0x10001)}\r\n0\r\n\r\n`,
      ),
      'body-too-large',
      `the body must be at most ${LIMIT} bytes`,
    ],
    [
      'chunk extensions that are too large',
      request(
        'POST',
        '/api/books/',
        ['Transfer-Encoding: chunked', JSON_TYPE],
        `1;${'a'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`,
      ),
      'body-too-large',
      'the chunk extensions of the body are too large',
    ],
  ])('%s', async (_what, bytes, type, detail, headers = {}) => {
    const { answers, closed } = await talk(books.url, bytes)
    expect(answers).toHaveLength(1)
    expect(answers[0]?.headers).toMatchObject({ 'content-type': 'application/problem+json', ...headers })
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ type: `/problems/${type}`, detail })
    expect(closed).toBe(true)
  })
})

test.each([['http://other.example'], ['http://other.example/'], ['HTTPS://other.example?a=/b'], ['/?a']])(
  'the root can be requested as %s',
  async (target) => {
    const { answers } = await talk(books.url, request('GET', target))
    expect(answers).toMatchObject([{ status: 200, body: '"the root"' }])
  },
)

test('a problem is a 500 where the renderer of problems throws, and the log has its error', async () => {
  const { answers } = await talk(books.url, request('GET', '/api/broken/', ['X-Request-Id: request-1']))
  expect(answers).toMatchObject([{ status: 500, headers: { 'content-type': 'application/problem+json' } }])
  expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ type: '/problems/internal', request_id: 'request-1' })
  expect(books.errors.at(-1)).toMatchObject({ type: 'internal', cause: { message: 'canary' }, request_id: 'request-1' })
})

test('bytes that are not a request get a problem document where the renderer of problems throws', async () => {
  const { answers, closed } = await talk(books.url, request('GET', '/api/broken/', ['No colon']))
  expect(answers).toMatchObject([{ status: 400, headers: { 'content-type': 'application/problem+json' } }])
  expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ type: '/problems/malformed-request' })
  expect(closed).toBe(true)
})

describe('an invalid response of a handler is a 500, and the log explains it', () => {
  test.each([
    ['low', 'a handler returned the status 199; it must be between 200 and 599'],
    ['high', 'a handler returned the status 600; it must be between 200 and 599'],
    ['half', 'a handler returned the status 200.5; it must be between 200 and 599'],
    ['body', 'a handler returned the status 204 and a body, which that status cannot have'],
    ['unchanged', 'a handler returned the status 304 and a body, which that status cannot have'],
    ['length', 'a handler set the header Content-Length, which the server sets'],
    ['connection', 'a handler set the header connection, which the server sets'],
    ['coding', 'a handler set the header Transfer-Encoding, which the server sets'],
    ['alive', 'a handler set the header Keep-Alive, which the server sets'],
    ['id', 'a handler set the header X-Request-ID, which the server sets'],
  ])('%s', async (kind, message) => {
    const { answers } = await talk(books.url, request('GET', `/api/odd/${kind}/`, ['X-Request-Id: request-1']))
    expect(answers).toMatchObject([{ status: 500 }])
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ type: '/problems/internal', request_id: 'request-1' })
    expect(answers[0]?.body).not.toContain('handler')
    expect(books.errors.at(-1)).toEqual({
      event: 'failure',
      request_id: 'request-1',
      trace_id: undefined,
      route: 'book/api/odd/{kind}/',
      type: 'internal',
      cause: expect.objectContaining({ message }),
    })
  })
})

describe('counted requests', () => {
  test.each<[milliseconds: number, place: number]>([
    [0, 0],
    [1, 0],
    [1.1, 1],
    [2.5, 1],
    [249, 7],
    [10_000, 12],
    [10_001, 13],
    [99_999, 13],
  ])('of %d ms are in bucket %d', (milliseconds, place) => {
    const counted = createTraffic().of(undefined)
    counted.count(204, milliseconds)
    const durations = Array<number>(DURATIONS.length + 1).fill(0)
    durations[place] = 1
    expect(counted.tallies[2]).toEqual({ status: '2xx', durations, time: milliseconds })
  })

  test('are counted by route and class of status', () => {
    const traffic = createTraffic()
    traffic.of(undefined).count(200, 3)
    traffic.of(undefined).count(299, 4)
    traffic.of(undefined).count(500, 4)
    traffic.of(undefined).count(undefined, 4)
    const [only, ...others] = traffic.routes()
    expect(others).toEqual([])
    expect(only?.tallies.map((tally) => tally && [tally.status, tally.time])).toEqual([
      ['none', 4],
      undefined,
      ['2xx', 7],
      undefined,
      undefined,
      ['5xx', 4],
    ])
  })
})

test('scripts of other origins may send and read these headers', () => {
  const cors = compileCors({ origins: ['https://a.example'], credentials: true, maxAge: 5, headers: ['X-Tenant'] })
  const asking = (origin: string | undefined) =>
    ({ headers: { origin, 'access-control-request-method': 'PUT' } }) as unknown as Parameters<typeof cors.preflight>[0]
  expect(cors.headersFor(asking('https://a.example'))).toEqual([
    'Vary',
    'Origin',
    'Access-Control-Allow-Origin',
    'https://a.example',
    'Access-Control-Allow-Credentials',
    'true',
    'Access-Control-Expose-Headers',
    'Content-Range, X-Total-Count, X-Total-Count-Estimated, Link, Location, ETag, Retry-After, Allow, WWW-Authenticate, Accept-Post, Accept-Patch, Content-Disposition, Server-Timing, Deprecation, Sunset, RateLimit, RateLimit-Policy, Idempotency-Replayed, X-Request-Id',
  ])
  expect(cors.preflight(asking('https://a.example'), 'GET, PUT')).toEqual({
    'Access-Control-Allow-Methods': 'GET, PUT',
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, If-Match, If-None-Match, Range, Prefer, Idempotency-Key, X-Request-Id, traceparent, tracestate, X-Tenant',
    'Access-Control-Max-Age': '5',
  })
  for (const origin of [undefined, 'https://b.example', 'https://a.example.com', '*']) {
    expect(cors.headersFor(asking(origin))).toEqual(['Vary', 'Origin'])
    expect(cors.preflight(asking(origin), 'GET')).toBeUndefined()
  }
})
