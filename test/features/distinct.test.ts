import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { checkText, ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { linksOf } from '../support/links.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      language: { type: string, max: 10, nullable: true }
      author: { type: belongs_to, model: author }
      secret: { type: string, default: hidden, private: true }
      notes: { type: json, nullable: true }
resources:
  author: { model: author, path: /authors/ }
  book:
    model: book
    path: /books/
    filterable: { language: [exact, ne, isnull], author: [exact] }
    search: [title]
    orderable: [title]
    distinct: [language, author]
    links: { author: author-detail }
    pagination: { page_size: 2, max_offset: 5000 }
  marked:
    model: book
    path: /marked/
    filterable: [author]
    orderable: [title, language]
    nulls: { language: first }
    sparse_fields: true
    expand: { author: { resource: author } }
    distinct: [language]
    pagination: { style: cursor, page_size: 2 }
  wrapped:
    model: book
    path: /wrapped/
    distinct: [language]
    pagination: { style: limit_offset, envelope: results, count: exact }
  small: { model: book, path: /small/, distinct: [language], pagination: { style: none } }
  plain: { model: book, path: /plain/ }
`

const plugin: Plugin = (app) => {
  const books = app.resource('wrapped')
  app.route('GET', '/languages/', 'languages', async (context) => {
    const page = await context.store(books).list(books.parseList('distinct=language').plan)
    return { status: 200, body: page.items.map((row) => Object.entries(row).join()) }
  })
}

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin })
  for (const name of ['Ada', 'Grace']) await api.send('POST', '/api/authors/', { name })
  const books = [
    ['One', 'rust', 1],
    ['Two', 'go', 1],
    ['Three', 'go', 2],
    ['Four', null, 2],
    ['Five', 'ada', 2],
    ['Six', null, 2],
    ['Seven', 'go', 2],
  ] as const
  for (const [title, language, author] of books) {
    const { status } = await api.send('POST', '/api/books/', { title, language, author })
    expect(status).toBe(201)
  }
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const get = async (path: string) => {
  const response = await api.fetch(path)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The languages of all pages, following the links. */
const follow = async (path: string, rel: 'next' | 'prev'): Promise<readonly (string | null)[][]> => {
  const answer = await get(path)
  expect(answer.status).toBe(200)
  const page = (JSON.parse(answer.text) as { language: string | null }[]).map(({ language }) => language)
  const link = linksOf(answer)[rel]
  return [page, ...(link === undefined ? [] : await follow(link, rel))]
}

describe('distinct= lists', () => {
  test.each([
    [
      'the values of a field, each once, in order',
      '/books/?distinct=language',
      '[{"language":"ada"},{"language":"go"}]',
      '4',
    ],
    ['null as one of the values', '/books/?distinct=language&page=2', '[{"language":"rust"},{"language":null}]', '4'],
    [
      'the values of records that match filters',
      '/books/?distinct=language&author=1',
      '[{"language":"go"},{"language":"rust"}]',
      '2',
    ],
    ['the values of records that match a search', '/books/?distinct=language&search=thr', '[{"language":"go"}]', '1'],
    [
      'the values of a filter on the field itself',
      '/books/?distinct=language&language__isnull=true',
      '[{"language":null}]',
      '1',
    ],
    [
      'relations in the form that records have',
      '/books/?distinct=author',
      '[{"author":"/api/authors/1/"},{"author":"/api/authors/2/"}]',
      '2',
    ],
    ['nothing if no record matches', '/books/?distinct=language&search=zz', '[]', '0'],
    [
      'the same values on the path of partial records',
      '/books/partial/?distinct=language&author=1',
      '[{"language":"go"},{"language":"rust"}]',
      '2',
    ],
    [
      'all values in an unpaged list',
      '/small/?distinct=language',
      '[{"language":"ada"},{"language":"go"},{"language":"rust"},{"language":null}]',
      '4',
    ],
    [
      'nulls in the position that the resource configures',
      '/marked/?distinct=language&page_size=2',
      '[{"language":null},{"language":"ada"}]',
      '4',
    ],
  ])('%s', async (_what, path, text, total) => {
    const answer = await get(`/api${path}`)
    expect([answer.status, answer.text, answer.headers.get('x-total-count')]).toEqual([200, text, total])
  })

  test("values in the resource's envelope", async () => {
    const { text } = await get('/api/wrapped/?distinct=language&limit=1&offset=1')
    expect(JSON.parse(text)).toEqual({
      count: 4,
      next: expect.stringContaining('distinct=language'),
      previous: expect.stringContaining('distinct=language'),
      results: [{ language: 'go' }],
    })
  })

  test.each([
    [
      'by page number',
      '/api/books/?distinct=language',
      [
        ['ada', 'go'],
        ['rust', null],
      ],
    ],
    [
      'by cursor',
      '/api/marked/?distinct=language',
      [
        [null, 'ada'],
        ['go', 'rust'],
      ],
    ],
  ])('every value once over all pages %s, in both directions', async (_how, path, pages) => {
    expect(await follow(path, 'next')).toEqual(pages)
    const first = await get(path)
    const second = linksOf(first)['next'] ?? ''
    expect(await follow(second, 'prev')).toEqual(pages.toReversed())
  })

  test('an empty page far beyond the last value', async () => {
    const answer = await get('/api/books/?distinct=language&page=1500')
    expect([answer.status, answer.text]).toEqual([200, '[]'])
  })

  test('values for handlers, as rows with only this field', async () => {
    const { status, text } = await get('/api/languages/')
    expect([status, text]).toEqual([200, '["language,ada","language,go","language,rust","language,"]'])
  })
})

describe('distinct= is rejected', () => {
  test.each([
    [
      'for an undeclared field',
      '/books/?distinct=title',
      'the parameter `distinct` must be one of: language, author; got `title`',
    ],
    [
      'for several fields',
      '/books/?distinct=language,author',
      'the parameter `distinct` must be one of: language, author; got `language,author`',
    ],
    ['without a field', '/books/?distinct=', 'the parameter `distinct` must be one of: language, author; got ``'],
    [
      'together with `ordering`',
      '/books/?distinct=language&ordering=title',
      'the parameters `distinct` and `ordering` cannot be combined; give one',
    ],
    [
      'together with `fields`',
      '/marked/?distinct=language&fields=id',
      'the parameters `distinct` and `fields` cannot be combined; give one',
    ],
    [
      'together with `expand`',
      '/marked/?distinct=language&expand=author',
      'the parameters `distinct` and `expand` cannot be combined; give one',
    ],
    [
      'for a resource that declares no field',
      '/plain/?distinct=language',
      'this list has no parameter `distinct`; allowed are page, page_size, cursor',
    ],
  ])('%s', async (_what, path, detail) => {
    const { status, text } = await get(`/api${path}`)
    expect([status, (JSON.parse(text) as { detail: string }).detail]).toEqual([400, detail])
  })

  test('for a single record', async () => {
    expect((await get('/api/books/1/?distinct=language')).status).toBe(400)
    expect((await get('/api/marked/1/?distinct=language')).status).toBe(400)
  })
})

test('OPTIONS names the fields whose distinct values can be listed', async () => {
  const response = await api.fetch('/api/books/', { method: 'OPTIONS' })
  expect(await response.json()).toMatchObject({ distinct: ['language', 'author'] })
})

test('the OpenAPI document has the parameter and partial records', async () => {
  const { paths } = JSON.parse((await get('/openapi.json')).text) as {
    readonly paths: Record<string, { get: { description: string; parameters: { name: string; schema: object }[] } }>
  }
  const parameterOf = (path: string) => paths[path]?.get.parameters.find(({ name }) => name === 'distinct')
  expect(parameterOf('/api/books/')).toBeUndefined()
  expect(parameterOf('/api/books/partial/')).toMatchObject({ schema: { type: 'string', enum: ['language', 'author'] } })
  expect(paths['/api/books/{id}/partial/']).toBeUndefined()
  expect(paths['/api/marked/partial/']?.get.description).toContain('`fields` or `distinct`')
})

const withDistinct = (fields: string, more = '') =>
  YAML.replace('distinct: [language, author]', `distinct: [${fields}]`).replace(
    '    search: [title]\n',
    `    search: [title]\n${more}`,
  )

test.each([
  ['an unknown field', withDistinct('langage'), /SC305.*`langage`/],
  [
    'a hidden field',
    withDistinct('secret'),
    /SC311.*lists cannot be made distinct by `secret`: responses do not include it/,
  ],
  [
    'a field without an order',
    withDistinct('notes'),
    /SC311.*lists cannot be made distinct by `notes`: the type `json` has no order/,
  ],
  ['a field named twice', withDistinct('language, language'), /SC2\d\d/],
  [
    'a resource in a dialect',
    withDistinct('language', '    dialect: json-server\n'),
    /SC319.*`distinct` has no effect: the dialect is `json-server`/,
  ],
])('check reports %s', (_what, yaml, mistake) => {
  const mistakes = checkText(yaml)
  const texts = Array.isArray(mistakes) ? mistakes.map(({ code, message }) => `${code} ${message}`) : []
  expect(texts).toEqual([expect.stringMatching(mistake)])
})
