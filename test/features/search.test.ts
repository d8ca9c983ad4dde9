import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fail } from '../../src/foundation/fail.js'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'
import { linksOf } from '../support/links.js'

const YAML = `version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      blurb: { type: text, nullable: true }
      pages: { type: integer, default: 1 }
      secret: { type: string, default: hidden, private: true }
      pin: { type: string, default: hidden, write_only: true }
resources:
  book:
    model: book
    path: /books/
    filterable: [title]
    search: [title, blurb]
    pagination: { page_size: 2 }
  feed:
    model: book
    path: /feed/
    operations: [list]
    search: [title, blurb]
    pagination: { style: cursor, page_size: 2 }
  plain:
    model: book
    path: /plain/
    filterable: [title]
    operations: [list]
`

const MOUNTS = `mounts:
  - { path: /page, dialect: page }
  - { path: /json-server, dialect: json-server }
  - { path: /simple-rest, dialect: simple-rest }
  - { path: /crud, dialect: crud }
`

const BOOKS = [
  { title: 'A Tour of Go', blurb: 'Concurrency, and 100% of the syntax' },
  { title: 'Go in practice', blurb: null },
  { title: 'Practical Rust', blurb: 'Ownership on TOUR; c:\\temp and a_b' },
  { title: 'azb', blurb: 'go' },
]

let api: Api
let mounted: Api
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: true })
  mounted = await startApi(YAML + MOUNTS, { database: api.database, checkResponses: true })
  for (const book of BOOKS) expect((await api.send('POST', '/api/books/', book)).status).toBe(201)
})
afterAll(async () => {
  await mounted.close()
  await api.close()
})

const get = async (path: string, on = api) => {
  const response = await on.fetch(path)
  return { status: response.status, headers: response.headers, body: (await response.json()) as never }
}
const query = (search: string) => new URLSearchParams({ search }).toString()

describe('a search finds the records', () => {
  test.each<[what: string, search: string, ids: readonly number[]]>([
    ['with the word in any of the fields', 'go', [1, 2, 4]],
    ['whatever the case of the word', 'TOUR', [1, 3]],
    ['with all words in any order', 'tour go', [1]],
    ['with the words in different fields', 'practical tour', [3]],
    ['with a word that contains the searched one', 'actic', [2, 3]],
    ['with a literal percent sign', '100%', [1]],
    ['with a literal underscore', 'a_b', [3]],
    ['with a literal backslash', 'c:\\t', [3]],
    ['with a literal quote', "'go'", []],
    ['for words separated by any whitespace', '\tgo \u00a0 tour\n', [1]],
    ['for a repeated word', 'rust rust', [3]],
    ['for an empty search, which finds all', ' ', [1, 2, 3, 4]],
    ['but not by values of hidden fields', 'hidden', []],
  ])('%s', async (_what, search, ids) => {
    const { status, headers, body } = await get(`/api/books/?page_size=9&${query(search)}`)
    expect([status, (body as { id: number }[]).map(({ id }) => id)]).toEqual([200, ids])
    expect(headers.get('x-total-count')).toBe(String(ids.length))
  })

  test.each(['/api/books/', '/api/feed/'])('of every page of %s, with links that keep the search', async (path) => {
    const first = await get(`${path}?search=go`)
    expect(first.headers.get('x-total-count')).toBe('3')
    const { next = '' } = linksOf(first)
    expect(next).toContain('search=go')
    expect((await get(next)).body).toMatchObject([{ id: 4 }])
  })

  test('that match the filters, too', async () => {
    expect((await get('/api/books/?search=go&title=azb')).body).toMatchObject([{ id: 4 }])
  })
})

describe('a search is rejected', () => {
  test.each([
    ['with more than 200 characters', `search=${'😀'.repeat(201)}`, '`search` takes at most 200 characters'],
    ['with more than 10 words', `search=${'a+b+c+d+e+f+g+h+i+j+k'}`, '`search` takes at most 10 words'],
    ['with U+0000', 'search=a%00', 'the value of `search` must not contain U+0000 or an unpaired surrogate'],
    ['with invalid UTF-8', 'search=%ff', 'is not percent-encoded UTF-8'],
    ['with a duplicate parameter', 'search=a&search=b', 'the parameter `search` is given twice; give it once'],
  ])('%s', async (_what, search, detail) => {
    const { status, body } = await get(`/api/books/?${search}`)
    expect([status, body]).toMatchObject([400, { detail: expect.stringContaining(detail) }])
  })

  test('for a resource that declares none', async () => {
    const { status, body } = await get('/api/plain/?search=go')
    expect([status, body]).toMatchObject([
      400,
      { detail: 'this list has no parameter `search`; allowed are page, page_size, cursor, title' },
    ])
  })

  test('only above 200 characters and 10 words', async () => {
    expect((await get(`/api/books/?search=${'😀'.repeat(200)}`)).status).toBe(200)
    expect((await get('/api/books/?search=+a+b+c+d+e+f+g+h+i+j+a+')).status).toBe(200)
  })
})

describe('dialects search', () => {
  const idsOf = (body: never) => {
    const rows = Array.isArray(body) ? body : (body['results'] ?? body['data'])
    return (rows as { id: number }[]).map(({ id }) => id)
  }

  test.each([
    ['/page/books/?search=go+tour', [1]],
    ['/json-server/books/?q=go+tour', [1]],
    ['/json-server/books/?q=', [1, 2, 3, 4]],
    [`/simple-rest/books/?filter=${encodeURIComponent('{"q":"go tour"}')}`, [1]],
    [`/simple-rest/books/?filter=${encodeURIComponent('{"q":100}')}`, [1]],
  ])('as their clients request it: %s', async (path, ids) => {
    const { status, body } = await get(path, mounted)
    expect([status, idsOf(body)]).toEqual([200, ids])
  })

  test.each([
    ['/page/plain/?search=go', '`search`'],
    ['/json-server/plain/?q=go', '`q`'],
    ['/crud/books/?q=go', '`q`'],
    [`/simple-rest/plain/?filter=${encodeURIComponent('{"q":"go"}')}`, '`filter.q`'],
    [`/simple-rest/books/?filter=${encodeURIComponent('{"q":["go"]}')}`, '`filter.q` must be text'],
    [`/json-server/books/?q=${'a'.repeat(201)}`, '`q` takes at most 200 characters'],
  ])('only if the resource declares it and the dialect supports it: %s', async (path, words) => {
    const { status, body } = await get(path, mounted)
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(words)
  })
})

test("the OpenAPI document has the parameter under the dialect's name", async () => {
  const { paths } = (await (await mounted.fetch('/openapi.json')).json()) as {
    paths: Record<string, { get: { parameters: { name: string }[] } }>
  }
  const namesAt = (path: string) => (paths[path] ?? fail(`no path ${path}`)).get.parameters.map(({ name }) => name)
  expect(namesAt('/api/books/')).toContain('search')
  expect(namesAt('/page/books/')).toContain('search')
  expect(namesAt('/json-server/books')).toContain('q')
  for (const path of ['/simple-rest/books', '/crud/books', '/api/plain/', '/json-server/plain'])
    expect(namesAt(path)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(q|search)$/)]))
})

test("OPTIONS and the list's page describe it", async () => {
  const options = await api.fetch('/api/books/', { method: 'OPTIONS' })
  expect(await options.json()).toMatchObject({ search: ['title', 'blurb'] })
  const page = await (await api.fetch('/explore/api/books/?search=go')).text()
  expect(page).toMatch(/<input id="search" name="search" type="search"[^>]* value="go"/)
})

describe('the configuration rejects a search', () => {
  const withSearch = (search: string, filters = '') =>
    YAML.replace('search: [title, blurb]\n', `search: ${search}\n`).replace('filterable: [title]', filters)

  test.each([
    ['by a private field', '[secret]', '17:14 SC311'],
    ['by a write-only field', '[title, pin]', '17:21 SC311'],
    ['by a number', '[pages]', '17:14 SC311'],
    ['by an unknown field', '[titel]', '17:14 SC305'],
    ['by a duplicate field', '[title, title]', '17:21 SC207'],
    ['by no fields', '[]', '17:13 SC207'],
  ])('%s', (_what, search, mistake) => {
    expect(mistakesOf(withSearch(search))).toEqual([mistake])
  })

  test.each(['search', 'q'])('together with a filter named `%s`', (name) => {
    const text = YAML.replace('title: {', `${name}: { type: string }\n      title: {`)
    expect(mistakesOf(text.replace('filterable: [title]', `filterable: [${name}]`))).toEqual(['17:18 SC313'])
    expect(mistakesOf(text.replace(/( {4}path: \/plain\/\n {4}filterable:) \[title\]/, `$1 [${name}]`))).toEqual([])
  })
})
