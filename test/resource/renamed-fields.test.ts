import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'

/** The names in one service, and in the other. */
const NAMES = [
  ['author_no', 'authorNo'],
  ['family_name', 'familyName'],
  ['born_in', 'bornIn'],
  ['page_count', 'PageCount'],
  ['written_by', 'writtenBy'],
  ['made_at', 'madeAt'],
  ['sort_key', 'sortKey'],
  ['tag_list', 'tagList'],
  ['secret_note', 'SecretNote'],
] as const

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  author:
    table: authors
    fields:
      author_no: { type: integer, primary_key: true, column: id }
      family_name: { type: string, max: 50, unique: true, column: FamilyName }
      born_in: { type: integer, minimum: 1900, nullable: true, column: born }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50, column: Title }
      page_count: { type: integer, minimum: 1, column: pages }
      tag_list: { type: array, items: { type: string, max: 20 }, max: 5, nullable: true, column: tags }
      secret_note: { type: string, max: 200, default: '', private: true, column: secret }
      written_by: { type: belongs_to, model: author, column: author }
      made_at: { type: timestamp, auto: on_create, column: made }
    indexes:
      - { fields: [title, written_by], unique: true }
      - [page_count, id]
resources:
  author:
    model: author
    path: /authors/
    label_field: family_name
    filterable: { family_name: [exact, icontains], born_in: [exact, gte, isnull] }
    orderable: [family_name, born_in]
  book:
    model: book
    path: /books/
    filterable:
      title: [exact]
      page_count: [exact, gte, in, range]
      written_by: [exact, in]
      written_by.family_name: [exact, startswith]
      tag_list: [has]
    orderable: [title, page_count]
    default_order: [-page_count]
    search: [title]
    distinct: [written_by]
    sparse_fields: true
    expand: [written_by]
    export: true
    bulk: [create, partial_update, destroy]
    pagination: { style: cursor, page_size: 2 }
    computed:
      sort_key: { type: string, from: [title, page_count] }
  crud_book:
    model: book
    path: /crud-books/
    dialect: crud
    filterable: { page_count: [exact, gte] }
    orderable: [page_count]
  server_book:
    model: book
    path: /server-books/
    dialect: json-server
    filterable: { page_count: [exact, gte] }
    orderable: [page_count]
`

const renamed = (text: string): string => NAMES.reduce((all, [from, to]) => all.replaceAll(from, to), text)
const restored = (text: string): string => NAMES.reduce((all, [from, to]) => all.replaceAll(to, from), text)

const pluginWith =
  (format: (text: string) => string): Plugin =>
  (app) => {
    app.compute('book', format('sort_key'), (stored: Readonly<Record<string, unknown>>) =>
      [stored['title'], stored[format('page_count')]].join(' '),
    )
    app.hooks('book', {
      beforeCreate: ({ values }) => ({ [format('secret_note')]: Object.keys(values).sort().join() }),
    })
  }

let plain: Api
let other: Api
beforeAll(async () => {
  plain = await startApi(YAML, { plugin: pluginWith((text) => text) })
  other = await startApi(renamed(YAML), { plugin: pluginWith(renamed) })
})
afterAll(async () => {
  await plain.close()
  await other.close()
})

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

const send = async (api: Api, { method, path, body }: Sent, format: (text: string) => string) => {
  const text = body === undefined ? {} : { body: format(JSON.stringify(body)) }
  const headers = { 'content-type': 'application/json' }
  return comparableParts(
    await api.fetch(format(path), { method, headers, ...text }),
    api === other ? restored : (each) => each,
  )
}

/** Sends a request to both services, each with its own names, and compares the responses. @returns the status */
async function compare(sent: Sent): Promise<number> {
  const expected = await send(plain, sent, (text) => text)
  expect(await send(other, sent, renamed)).toEqual(expected)
  return expected.status
}

/** Parts that differ between two services: times, request ids, addresses, folders, cursors and versions. */
const VOLATILE = [
  /\d{4}-\d\d-\d\dT[\d:.]+Z/g,
  /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g,
  /· (?:<\/span>)?[\d.]+ ms/g,
  /cursor=[\w-]+/g,
  /data-version="[^"]+"/g,
  /127\.0\.0\.1:\d+/g,
  /\/dev\/shm\/snippetctl-\w+/g,
  /\/tmp\/snippetctl-\w+/g,
]

const withoutVolatile = (text: string): string => VOLATILE.reduce((all, part) => all.replaceAll(part, ''), text)

/** The parts of a response that are the same, whatever fields are called. */
async function comparableParts(response: Response, format: (text: string) => string) {
  const text = format(await response.text())
  const { pathname } = new URL(response.headers.get('location') ?? '/', response.url)
  return {
    status: response.status,
    location: pathname,
    link: withoutVolatile(format(response.headers.get('link') ?? '')),
    text: withoutVolatile(text),
  }
}

const book = (title: string, page_count: number, more: object = {}) => ({ title, page_count, written_by: 1, ...more })

describe('renaming fields changes nothing in responses but the names', () => {
  test.each<[string, Sent['method'], string, unknown, number]>([
    ['a new author', 'POST', '/api/authors/', { family_name: 'Hopper', born_in: 1906 }, 201],
    ['a second author', 'POST', '/api/authors/', { family_name: 'Lovelace' }, 201],
    ['a taken name', 'POST', '/api/authors/', { family_name: 'Hopper' }, 409],
    ['an invalid value', 'POST', '/api/authors/', { family_name: 'Old', born_in: 1800 }, 400],
    ['an unknown field', 'POST', '/api/authors/', { surname: 'X' }, 400],
    ['an author', 'GET', '/api/authors/1/', undefined, 200],
    ['a changed author', 'PATCH', '/api/authors/1/', { born_in: 1907 }, 200],
    ['the page of an author', 'GET', '/explore/api/authors/1/', undefined, 200],
    ['the page of authors', 'GET', '/explore/api/authors/', undefined, 200],
    ['several books', 'POST', '/api/books/', [book('One', 30), book('Two', 20, { tag_list: ['a'] })], 201],
    ['one book', 'POST', '/api/books/', book('Three', 10, { written_by: 2 }), 201],
    ['several books, one invalid', 'POST', '/api/books/', [book('Four', 1), book('Five', 0)], 400],
    ['a private field', 'POST', '/api/books/', book('Six', 1, { secret_note: 'x' }), 400],
    ['a taken combination', 'POST', '/api/books/', book('One', 1), 409],
    ['a relation to a missing record', 'POST', '/api/books/', book('Seven', 1, { written_by: 9 }), 409],
    ['a change', 'PATCH', '/api/books/1/', { page_count: 31 }, 200],
    ['a replacement', 'PUT', '/api/books/2/', book('Two', 21, { tag_list: null }), 200],
    ['an incomplete replacement', 'PUT', '/api/books/2/', { title: 'Two' }, 400],
    ['several changes', 'PATCH', '/api/books/', [{ id: 1, page_count: 32, tag_list: ['a', 'b'] }], 200],
    ['a selection', 'GET', '/api/books/1/?fields=page_count,sort_key,written_by&expand=written_by', undefined, 200],
    ['an unknown selection', 'GET', '/api/books/1/?fields=pages', undefined, 400],
    ['an unknown filter', 'GET', '/api/books/?made_at=1', undefined, 400],
    ['distinct values', 'GET', '/api/books/?distinct=written_by', undefined, 200],
    ['a CSV export', 'GET', '/api/books/export.csv', undefined, 200],
    ['an export of JSON', 'GET', '/api/books/export.json?page_count__gte=20', undefined, 200],
    ['the options', 'OPTIONS', '/api/books/', undefined, 200],
    ['a page', 'GET', '/explore/api/books/', undefined, 200],
    ['the page of a record', 'GET', '/explore/api/books/1/', undefined, 200],
    ['the page of a schema', 'GET', '/explore/~schema/book', undefined, 200],
    ['the OpenAPI document', 'GET', '/openapi.json', undefined, 200],
    ['a list of a dialect', 'GET', '/api/crud-books/?filter=page_count||$gte||20&sort=page_count,ASC', undefined, 200],
    ['an error of a dialect', 'POST', '/api/crud-books/', book('Eight', 0), 400],
    ['a list of json-server', 'GET', '/api/server-books/?page_count_gte=20&_sort=page_count', undefined, 200],
  ])('%s', async (_what, method, path, body, status) => {
    expect(await compare({ method, path, body })).toBe(status)
  })

  const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts)
  const parameters = fc.array(
    fc.oneof(
      oneOf('title=One', 'page_count=21', 'page_count__gte=20', 'page_count__in=10,21', 'page_count__range=15,40'),
      oneOf(
        'written_by=1',
        'written_by__in=1,2',
        'written_by.family_name=Hopper',
        'written_by.family_name__startswith=L',
      ),
      oneOf('tag_list__has=a', 'search=o', 'page_count=x', 'page_count__lt=1', 'family_name=Hopper'),
      oneOf('ordering=page_count', 'ordering=-title,page_count', 'ordering=made_at', 'page_size=1', 'page_size=0'),
      oneOf(
        'fields=title,page_count',
        'fields=sort_key',
        'expand=written_by',
        'expand=page_count',
        'distinct=written_by',
      ),
    ),
    { minLength: 1, maxLength: 4 },
  )

  test('every list', async () => {
    await fc.assert(
      fc.asyncProperty(parameters, async (chosen) => {
        await compare({ method: 'GET', path: `/api/books/?${chosen.join('&')}` })
      }),
      { numRuns: 200 },
    )
  })

  test('the next page, by its link', async () => {
    const path = '/api/books/?page_size=1&ordering=page_count'
    const pages = [plain, other].map(async (api) => {
      const response = await api.fetch(api === other ? renamed(path) : path)
      const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? ''
      return comparableParts(await api.fetch(next.replace(api.url, '')), api === other ? restored : (text) => text)
    })
    const [expected, found] = await Promise.all(pages)
    expect(found).toEqual(expected)
    expect(JSON.parse(found?.text ?? '')).toMatchObject([{ title: 'Two' }])
  })
})

describe('the name of a field', () => {
  const withField = (name: string) =>
    `version: 1\nmodels:\n  book:\n    fields:\n      id: { type: bigint, primary_key: true }\n      ${name}: { type: text }\n`

  test.each([
    ['displayName', []],
    ['HTTPCode2', []],
    ['toStringValue', []],
    ['toString', ['6:7 SC206']],
    ['valueOf', ['6:7 SC206']],
    ['_name', ['6:7 SC206']],
    ['1st', ['6:7 SC206']],
    ['"a b"', ['6:7 SC206']],
    ['été', ['6:7 SC206']],
  ])('%s is checked', (name, mistakes) => {
    expect(mistakesOf(withField(name))).toEqual(mistakes)
  })

  test('may have upper-case letters in grants, sets, relations and expansions too', () => {
    const text = `version: 1
auth:
  roles: { names: [member] }
  jwt: { issuer: 'https://id.example', audience: api, algorithms: [RS256] }
  user: { model: person, match: signIn }
  sets: { friends: { of: friendship.friendId, rows: { personId: $user } } }
models:
  person:
    fields:
      id: { type: bigint, primary_key: true }
      signIn: { type: string, max: 50, unique: true }
      fullName: { type: string, max: 50 }
  friendship:
    fields:
      id: { type: bigint, primary_key: true }
      personId: { type: belongs_to, model: person, column: person }
      friendId: { type: belongs_to, model: person, column: friend }
    indexes: [[personId], [friendId]]
resources:
  person:
    model: person
    path: /people/
    access: [{ to: member, may: read, rows: { id__in: $friends }, fields: [id, fullName] }]
  friendship:
    model: friendship
    path: /friendships/
    expand: [personId, friendId]
    access: [{ to: member, may: [read, create], rows: { personId.signIn: $sub }, set: { personId: $user } }]
`
    expect(mistakesOf(text)).toEqual([])
  })
})
