import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
models:
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true, column: "Id" }
      name: { type: string, max: 50, column: displayName, unique: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true, column: "book.id" }
      title: { type: string, max: 50, column: 'a "title", or two' }
      pages: { type: integer, minimum: 1, column: order }
      notes: { type: json, nullable: true, column: "select" }
      author: { type: belongs_to, model: author, column: writtenBy }
      made_at: { type: timestamp, auto: on_create, column: "été" }
    indexes:
      - { fields: [title, author], unique: true }
      - [pages, id]
resources:
  author: { model: author, path: /authors/ }
  book:
    model: book
    path: /books/
    filterable: { title: [exact, icontains], author: [exact, in], pages: [gte] }
    orderable: [title, pages]
    search: [title]
    distinct: [author]
    sparse_fields: true
    expand: { author: { resource: author } }
    bulk: [create, partial_update, destroy]
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database })
  for (const name of ['Ada', 'Grace']) expect((await api.send('POST', '/api/authors/', { name })).status).toBe(201)
  for (const [title, pages, author] of [
    ['One', 30, 1],
    ['Two', 20, 2],
    ['Three', 10, 2],
  ] as const)
    expect((await api.send('POST', '/api/books/', { title, pages, author, notes: { a: pages } })).status).toBe(201)
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const titles = async (query: string): Promise<readonly string[]> => {
  const response = await api.fetch(`/api/books/?${query}`)
  expect(response.status).toBe(200)
  return ((await response.json()) as readonly { readonly title: string }[]).map(({ title }) => title)
}

describe('fields whose columns have other names', () => {
  test.each([
    ['title=Two', ['Two']],
    ['title__icontains=t&ordering=pages', ['Three', 'Two']],
    ['author=2&ordering=-title', ['Two', 'Three']],
    ['pages__gte=20&ordering=pages', ['Two', 'One']],
    ['search=hre', ['Three']],
    ['ordering=title&page=1', ['One', 'Three', 'Two']],
  ])('are filtered, searched and ordered by in ?%s', async (query, expected) => {
    expect(await titles(query)).toEqual(expected)
  })

  test('have their own names in JSON, also in expanded records and distinct values', async () => {
    const one = await (await api.fetch('/api/books/1/?expand=author')).json()
    expect(one).toEqual({
      id: 1,
      title: 'One',
      pages: 30,
      notes: { a: 30 },
      author: 1,
      made_at: expect.any(String),
      expanded: { author: { id: 1, name: 'Ada' } },
    })
    expect(await (await api.fetch('/api/books/?distinct=author')).json()).toEqual([{ author: 1 }, { author: 2 }])
  })

  test('are changed, merged and deleted', async () => {
    const made = await api.send('POST', '/api/books/', { title: 'Four', pages: 1, author: 1 })
    const path = new URL(made.headers.get('location') ?? '', 'http://localhost').pathname
    expect((await api.send('PATCH', path, { pages: 2 })).status).toBe(200)
    expect((await api.send('PUT', path, { title: 'Fore', pages: 3, author: 2, notes: null })).status).toBe(200)
    expect((await api.send('DELETE', path, undefined)).status).toBe(204)
  })

  test.each([
    ['a taken value', '/api/authors/', { name: 'Ada' }, 409, ['name']],
    ['a taken combination', '/api/books/', { title: 'One', pages: 1, author: 1 }, 409, ['title', 'author']],
    ['a record that does not exist', '/api/books/', { title: 'New', pages: 1, author: 9 }, 409, ['author']],
    ['a value below the minimum', '/api/books/', { title: 'New', pages: 0, author: 1 }, 400, ['pages']],
  ])('are named in the error about %s', async (_what, path, body, status, fields) => {
    const response = await api.send('POST', path, body)
    expect(response.status).toBe(status)
    const { errors } = (await response.json()) as { readonly errors: object }
    expect(Object.keys(errors)).toEqual(fields)
  })
})

describe('a configuration with names of columns', () => {
  const withFields = (...fields: readonly string[]) =>
    `version: 1\nmodels:\n  book:\n    fields:\n      id: { type: bigint, primary_key: true }\n${fields
      .map((field) => `      ${field}\n`)
      .join('')}`

  test.each([
    ['two fields with one column', ['a: { type: text, column: x }', 'b: { type: text, column: x }'], ['7:32 SC310']],
    ['the column of another field', ['a: { type: text }', 'b: { type: text, column: a }'], ['7:32 SC310']],
    ['a column of PostgreSQL', ['a: { type: text, column: ctid }'], ['6:32 SC310']],
    ['a name of 64 bytes', [`a: { type: text, column: ${'é'.repeat(32)} }`], ['6:32 SC318']],
    ['a name of 63 bytes', [`a: { type: text, column: ${'é'.repeat(31)}x }`], []],
    ['an empty name', ['a: { type: text, column: "" }'], ['6:32 SC206']],
    ['columns that differ in case', ['a: { type: text, column: x }', 'b: { type: text, column: X }'], []],
  ])('with %s is checked', (_what, fields, mistakes) => {
    expect(mistakesOf(withFields(...fields))).toEqual(mistakes)
  })
})
