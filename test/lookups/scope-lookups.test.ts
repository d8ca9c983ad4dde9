import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { LOOKUPS } from '../../src/lookups/index.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      pages: { type: integer }
      price: { type: decimal, precision: 6, scale: 2 }
      issued: { type: date }
      title: { type: string, max: 50, nullable: true }
      awards: { type: array, items: { type: date }, default: [] }
resources:
  book: { model: book, path: /books/, bulk: [destroy], pagination: { count: exact } }
`

interface Condition {
  readonly field: string
  readonly lookup: string
  readonly value: unknown
}

let conditions: readonly Condition[] = []

const plugin: Plugin = (app) => {
  app.use((context, next) => {
    try {
      context.scope('book', conditions)
    } catch (error) {
      return { status: 200, body: String(error) }
    }
    return next()
  })
  app.route('GET', '/model/', 'model', async ({ models }) => {
    const books = (await models.book.query().orderBy('id')) as readonly { readonly id: number }[]
    return { status: 200, body: books.map(({ id }) => id) }
  })
}

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin, checkResponses: false })
  const text = `insert into books (pages, price, issued, title, awards) values
    (100, 1.50, '2020-01-01', 'Dune', '{2021-02-03}'), (200, 10.00, '2021-01-01', 'Emma', '{}'), (300, 99.99, '2022-01-01', 'dunes', '{2021-02-03,2022-01-01}'), (400, 2, '2023-01-01', null, '{2000-01-01}')`
  await database.query({ text, values: [] })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const SCOPES: readonly (readonly [field: string, lookup: string, value: unknown, ids: readonly number[]])[] = [
  ['pages', 'exact', 200, [2]],
  ['pages', 'ne', 200, [1, 3, 4]],
  ['pages', 'in', [100, 400], [1, 4]],
  ['pages', 'in', [], []],
  ['pages', 'not_in', [100, 400], [2, 3]],
  ['pages', 'gt', 200, [3, 4]],
  ['pages', 'gte', 200, [2, 3, 4]],
  ['pages', 'lt', 200, [1]],
  ['pages', 'lte', 200, [1, 2]],
  ['pages', 'range', [200, 300], [2, 3]],
  ['pages', 'range', [300, 200], []],
  ['price', 'range', ['1.5', '10'], [1, 2, 4]],
  ['issued', 'range', ['2021-01-01', '2022-12-31'], [2, 3]],
  ['awards', 'has', '2021-02-03', [1, 3]],
  ['awards', 'contains', ['2021-02-03', '2022-01-01'], [3]],
  ['awards', 'overlaps', ['2021-02-03', '2000-01-01'], [1, 3, 4]],
  ['title', 'contains', 'un', [1, 3]],
  ['title', 'icontains', 'DUN', [1, 3]],
  ['title', 'startswith', 'D', [1]],
  ['title', 'istartswith', 'D', [1, 3]],
  ['title', 'endswith', 's', [3]],
  ['title', 'iexact', 'EMMA', [2]],
  ['title', 'isnull', true, [4]],
  ['title', 'isnull', false, [1, 2, 3]],
]

async function idsAt(path: string): Promise<readonly unknown[]> {
  const response = await api.fetch(path)
  expect(response.status).toBe(200)
  return ((await response.json()) as readonly (number | { readonly id: number })[]).map((each) =>
    typeof each === 'number' ? each : each.id,
  )
}

test('every lookup is tested', () => {
  expect(new Set(SCOPES.map(([, lookup]) => lookup))).toEqual(new Set(LOOKUPS.map(({ name }) => name)))
})

describe.each(SCOPES)('a scope in which %s %s %j', (field, lookup, value, ids) => {
  test('has these rows for lists, counts, records and models', async () => {
    conditions = [{ field, lookup, value }]
    expect(await idsAt('/api/books/')).toEqual(ids)
    expect((await api.fetch('/api/books/?page_size=1')).headers.get('x-total-count')).toBe(String(ids.length))
    for (const id of [1, 2, 3, 4])
      expect([id, (await api.fetch(`/api/books/${id}/`)).status]).toEqual([id, ids.includes(id) ? 200 : 404])
    expect(await idsAt('/api/model/')).toEqual(ids)
  })

  test('counts once however often it is given, and adds to others', async () => {
    const first = { field, lookup, value }
    conditions = [first, { field: 'id', lookup: 'range', value: [2, 3] }, { ...first }]
    expect(await idsAt('/api/books/')).toEqual(ids.filter((id) => id === 2 || id === 3))
  })
})

test('no write leaves a range', async () => {
  conditions = [{ field: 'pages', lookup: 'range', value: [150, 350] }]
  const wanted = { pages: 351, price: '1.00', issued: '2020-01-01', title: null }
  expect((await api.send('POST', '/api/books/', wanted)).status).toBe(400)
  expect((await api.send('PATCH', '/api/books/2/', { pages: 149 })).status).toBe(400)
  expect((await api.send('PATCH', '/api/books/1/', { pages: 200 })).status).toBe(404)
  expect((await api.fetch('/api/books/?ids=2,4', { method: 'DELETE' })).status).toBe(404)
  expect((await api.send('PATCH', '/api/books/2/', { pages: 200 })).status).toBe(200)
  conditions = []
  expect(await idsAt('/api/books/')).toEqual([1, 2, 3, 4])
})

test.each([
  ['range', 7, 'a list of two values, the first and the last,'],
  ['range', [7], 'a list of two values, the first and the last,'],
  ['range', [7, 8, 9], 'a list of two values, the first and the last,'],
  ['range', [7, 'x'], 'only values of the type `integer`'],
  ['range', [7, null], 'only values of the type `integer`'],
  ['not_in', [undefined], 'only values of the type `integer`'],
  ['isnull', 'true', 'true or false'],
])('a value of the wrong type is an error: %s %j', async (lookup, value, wanted) => {
  conditions = [{ field: 'pages', lookup, value }]
  const message = `Error: the scope of \`book\` needs ${wanted} to compare \`pages\` by \`${lookup}\``
  expect(await (await api.fetch('/api/books/')).json()).toBe(message)
})
