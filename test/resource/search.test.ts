import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fail } from '../../src/fail.js'
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
  api = await startApi(YAML, { judge: true })
  mounted = await startApi(YAML + MOUNTS, { database: api.database, judge: true })
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
    ['in which a word stands, in any of the fields', 'go', [1, 2, 4]],
    ['whatever the case', 'TOUR', [1, 3]],
    ['in which all words stand, in whatever order', 'tour go', [1]],
    ['in which words stand in different fields', 'practical tour', [3]],
    ['in which a word is a part of another', 'actic', [2, 3]],
    ['with a percent sign as it is', '100%', [1]],
    ['with an underscore as it is', 'a_b', [3]],
    ['with a backslash as it is', 'c:\\t', [3]],
    ['with a quote as it is', "'go'", []],
    ['of words between any white space', '\tgo \u00a0 tour\n', [1]],
    ['of a word twice', 'rust rust', [3]],
    ['all of them, when it has no word', ' ', [1, 2, 3, 4]],
    ['none by fields that answers do not show', 'hidden', []],
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

  test('that a filter finds, too', async () => {
    expect((await get('/api/books/?search=go&title=azb')).body).toMatchObject([{ id: 4 }])
  })
})

describe('a search is rejected', () => {
  test.each([
    ['of more than 200 characters', `search=${'😀'.repeat(201)}`, '`search` takes at most 200 characters'],
    ['of more than 10 words', `search=${'a+b+c+d+e+f+g+h+i+j+k'}`, '`search` takes at most 10 words'],
    ['with U+0000', 'search=a%00', 'the value of `search` is no text that a field could hold'],
    ['that is not UTF-8', 'search=%ff', 'is not percent-encoded UTF-8'],
    ['that is given twice', 'search=a&search=b', 'the parameter `search` is given twice; give it once'],
  ])('%s', async (_what, search, detail) => {
    const { status, body } = await get(`/api/books/?${search}`)
    expect([status, body]).toMatchObject([400, { detail: expect.stringContaining(detail) }])
  })

  test('where the resource declares none', async () => {
    const { status, body } = await get('/api/plain/?search=go')
    expect([status, body]).toMatchObject([
      400,
      { detail: 'this list takes no parameter `search`; allowed are page, page_size, cursor, title' },
    ])
  })

  test('with 200 characters and 10 words it is accepted', async () => {
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
  ])('only if it is declared and possible: %s', async (path, words) => {
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
  expect(page).toMatch(/<input id="search" name="search" type="search" value="go"/)
})

describe('the configuration rejects a search', () => {
  const withSearch = (search: string, filters = '') =>
    YAML.replace('search: [title, blurb]\n', `search: ${search}\n`).replace('filterable: [title]', filters)

  test.each([
    ['by a private field', '[secret]', '17:14 SC311'],
    ['by a field that is only written', '[title, pin]', '17:21 SC311'],
    ['by a number', '[pages]', '17:14 SC311'],
    ['by a field that is not there', '[titel]', '17:14 SC305'],
    ['by a field twice', '[title, title]', '17:21 SC207'],
    ['by nothing', '[]', '17:13 SC207'],
  ])('%s', (_what, search, mistake) => {
    expect(mistakesOf(withSearch(search))).toEqual([mistake])
  })

  test.each(['search', 'q'])('together with a filter named `%s`', (name) => {
    const text = YAML.replace('title: {', `${name}: { type: string }\n      title: {`)
    expect(mistakesOf(text.replace('filterable: [title]', `filterable: [${name}]`))).toEqual(['17:18 SC313'])
    expect(mistakesOf(text.replace(/( {4}path: \/plain\/\n {4}filterable:) \[title\]/, `$1 [${name}]`))).toEqual([])
  })
})
