import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

type Headers = Readonly<Record<string, string>>
type Asked = readonly [
  method: string,
  path: string,
  status: number,
  body?: object | string | undefined,
  type?: string | undefined,
  headers?: Headers,
]

const LONG = { title: 'x'.repeat(1_100_000) }

const sent = async (api: Api, [method, path, status, body, type = 'application/json', given]: Asked) => {
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const answer = await api.fetch(path, {
    method,
    ...(text !== undefined && { body: text }),
    headers: { ...(text !== undefined && { 'content-type': type }), ...given },
  })
  await answer.arrayBuffer()
  expect([method, path, status, answer.status]).toEqual([method, path, status, status])
}

/** A body that cannot be read, one of another type, and one that is too long. */
const unreadable = (method: string, path: string, [malformed, other]: readonly [number, number]): readonly Asked[] => [
  [method, path, malformed, '[]'],
  [method, path, other, '{}', 'text/plain'],
  [method, path, 413, LONG],
]

/** What is asked for again, by a client that has a version, means another one, or reads no JSON. */
const conditional = (asked: readonly Asked[]): readonly Asked[] =>
  asked.flatMap(([method, path, , body, type]): readonly Asked[] => [
    ...(method === 'DELETE' ? [] : [[method, path, 406, body, type, { accept: 'text/html' }] as const]),
    ...(/^(PUT|PATCH|DELETE)$/.test(method) ? [[method, path, 412, body, type, { 'if-match': '"x"' }] as const] : []),
    ...(method === 'GET' && path.endsWith('/1/')
      ? [
          [method, path, 304, body, type, { 'if-none-match': '*' }] as const,
          [method, path, 412, body, type, { 'if-match': '"x"' }] as const,
        ]
      : []),
  ])

/** What every route says while the tables are gone. */
const withoutTables = async (api: Api, asked: readonly Asked[], tables: string) => {
  await api.database.query({ text: `drop table ${tables} cascade`, values: [] })
  for (const [method, path, , ...body] of asked) await sent(api, [method, path, 503, ...body])
}

/** What is declared and no server of these has answered. */
const unanswered = (...apis: readonly Api[]): readonly string[] => {
  const answered = new Set(apis.flatMap(({ comparison }) => [...(comparison?.answered ?? [])]))
  return apis.flatMap(({ comparison }) => comparison?.declared() ?? []).filter((answer) => !answered.has(answer))
}

const ID = '0190163d-8694-739b-aea5-966c26f8ad91'
const L = '/library'
const author = { name: 'Anna', born: null }
const book = {
  author: 1,
  owner: null,
  title: 'One',
  isbn: null,
  pages: 3,
  price: '9.90',
  state: 'draft',
  published_on: null,
  access_code: null,
}
const subject = { name: 'Art', parent: null }

let library: Api
let snippets: Api
beforeAll(async () => {
  library = await startApi(resolve('test/applications/library.yaml'))
  snippets = await startApi(SNIPPETS_FILE)
})
afterAll(() => Promise.all([library.close(), snippets.close()]))

const GOOD: readonly Asked[] = [
  ['POST', `${L}/authors/`, 201, author],
  ['POST', `${L}/books/`, 201, book],
  ['POST', `${L}/books/shelf/`, 201, { ...book, title: 'Two' }],
  ['POST', `${L}/reviews/`, 201, { book: `${L}/books/1/`, rating: 5 }],
  ['POST', `${L}/subjects/`, 201, subject],
  ['POST', `${L}/subjects/`, 201, { name: 'Film', parent: 1 }],
  ...['users', 'authors', 'books', 'books/shelf', 'reviews', 'subjects'].map(
    (path): Asked => ['GET', `${L}/${path}/`, 200],
  ),
  ...['users', 'authors', 'books', 'books/shelf', 'subjects'].map((path): Asked => ['GET', `${L}/${path}/1/`, 200]),
  ['PUT', `${L}/authors/1/`, 200, author],
  ['PUT', `${L}/books/1/`, 200, book],
  ['PUT', `${L}/subjects/1/`, 200, subject],
  ...['authors', 'books', 'subjects'].map((path): Asked => ['PATCH', `${L}/${path}/1/`, 200, {}]),
]

const BAD: readonly Asked[] = [
  ...['users', 'authors', 'books', 'books/shelf', 'reviews', 'subjects'].map(
    (path): Asked => ['GET', `${L}/${path}/?page=0&x=1`, 400],
  ),
  ...['users', 'authors', 'books', 'books/shelf', 'subjects'].map((path): Asked => ['GET', `${L}/${path}/99/`, 404]),
  ...['users', 'authors', 'books', 'subjects'].map((path): Asked => ['GET', `${L}/${path}/1/?x=1`, 400]),
  ...['authors', 'books', 'reviews', 'subjects'].map((path): Asked => ['DELETE', `${L}/${path}/1/?x=1`, 400]),
  ...['authors', 'books', 'books/shelf', 'reviews', 'subjects'].flatMap((path) =>
    unreadable('POST', `${L}/${path}/`, [400, 415]),
  ),
  ...['authors', 'books', 'subjects'].flatMap((path) => [
    ...unreadable('PUT', `${L}/${path}/1/`, [400, 415]),
    ...unreadable('PATCH', `${L}/${path}/1/`, [400, 415]),
    ['PATCH', `${L}/${path}/99/`, 404, {}] as const,
    ['DELETE', `${L}/${path}/99/`, 404] as const,
  ]),
  ['GET', `${L}/books/shelf/1/`, 400, undefined, undefined, { 'if-match': 'x' }],
  ['PUT', `${L}/authors/99/`, 404, author],
  ['PUT', `${L}/books/99/`, 404, book],
  ['PUT', `${L}/subjects/99/`, 404, { ...subject, name: 'New' }],
  ['DELETE', `${L}/reviews/${ID}/`, 404],
  ['POST', `${L}/books/`, 409, { ...book, author: 99 }],
  ['POST', `${L}/books/shelf/`, 409, { ...book, author: 99 }],
  ['POST', `${L}/reviews/`, 409, { book: 99, rating: 5 }],
  ['POST', `${L}/subjects/`, 409, subject],
  ['PUT', `${L}/books/1/`, 409, { ...book, author: 99 }],
  ['PUT', `${L}/subjects/1/`, 409, { ...subject, name: 'Film' }],
  ['PATCH', `${L}/books/1/`, 409, { author: 99 }],
  ['PATCH', `${L}/subjects/1/`, 409, { name: 'Film' }],
  ['DELETE', `${L}/authors/1/`, 409],
  ['DELETE', `${L}/subjects/1/`, 409],
]

test('every declared status of generated routes occurs, as described', async () => {
  await library.database.query({ text: `insert into users (username) values ('ann')`, values: [] })
  for (const each of [...GOOD, ...conditional(GOOD), ...BAD]) await sent(library, each)
  const [review] = (await (await library.fetch(`${L}/reviews/`)).json()) as readonly { readonly id: string }[]
  const gone: readonly Asked[] = [`reviews/${review?.id}`, 'books/1', 'books/2', 'authors/1', 'subjects/2'].map(
    (path) => ['DELETE', `${L}/${path}/`, 204],
  )
  for (const each of [...conditional(gone), ...gone]) await sent(library, each)
  await withoutTables(library, [...GOOD, ...gone], 'users, authors, books, reviews, subjects')
  expect(unanswered(library)).toEqual([])
})

const A = '/api/snippets'
const B = '/api/snippets-viewset'
const snippet = { title: 'Greeting', code: 'print("hi")', language: 'python' }

test('every declared status of the snippet service occurs, as described', async () => {
  const good: readonly Asked[] = [
    ...[A, B].flatMap((path): readonly Asked[] => [
      ['POST', `${path}/`, 201, snippet],
      ['GET', `${path}/`, 200],
      ['GET', `${path}/1/`, 200],
      ['PUT', `${path}/1/`, 200, snippet],
    ]),
    ['PATCH', `${B}/1/`, 200, {}],
  ]
  const bad: readonly Asked[] = [
    ['GET', `${B}/?page=0`, 400],
    ['GET', `${B}/1/?x=1`, 400],
    ['DELETE', `${B}/1/?x=1`, 400],
    ...[A, B].flatMap((path): readonly Asked[] => [
      ['GET', `${path}/99/`, 404],
      ['PUT', `${path}/99/`, 404, snippet],
      ['DELETE', `${path}/99/`, 404],
    ]),
    ['PATCH', `${B}/99/`, 404, {}],
    ...unreadable('POST', `${A}/`, [400, 400]),
    ...unreadable('PUT', `${A}/1/`, [422, 422]),
    ...unreadable('POST', `${B}/`, [400, 415]),
    ...unreadable('PUT', `${B}/1/`, [400, 415]),
    ...unreadable('PATCH', `${B}/1/`, [400, 415]),
    ['GET', `${A}/config/`, 200],
  ]
  const gone: readonly Asked[] = [
    ['DELETE', `${A}/1/`, 204],
    ['DELETE', `${B}/2/`, 204],
  ]
  const generated = [...good, ...gone].filter(([, path]) => path.startsWith(B))
  for (const each of [...good, ...conditional(generated), ...bad, ...gone]) await sent(snippets, each)
  await withoutTables(snippets, [...good, ...gone], 'snippets')
  const unset = await startApi(SNIPPETS_FILE, {
    database: snippets.database,
    env: { SNIPPETCTL_SETTING_MAX_PAGE_SIZE: '0' },
  })
  await sent(unset, ['GET', `${A}/config/`, 503])
  await unset.close()
  expect(unanswered(snippets, unset)).toEqual([])
})
