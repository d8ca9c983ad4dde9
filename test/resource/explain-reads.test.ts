import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Problem } from '../../src/index.js'
import { type Database, explainRead, loadApplication } from '../../src/internal.js'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, watchDatabase } from '../support/database.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  author:
    table: authors
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9 } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author, nullable: true }
      title: { type: string, max: 200 }
      pages: { type: integer }
      lent: { type: boolean }
      read_on: { type: date, nullable: true }
    indexes:
      - [title, id]
      - [read_on, id]
resources:
  book:
    model: book
    path: /books/
    filterable: { title: [exact, contains], pages: [exact, gt], lent: [exact], read_on: [isnull, lt] }
    search: [title]
    orderable: [title, pages, read_on]
  author: { model: author, path: /authors/ }
  shown: { model: book, path: /shown/, sparse_fields: true, expand: { author: { resource: author } } }
  walk: { model: book, path: /walk/, orderable: [title], pagination: { style: cursor } }
`

const ROWS = 20_000

let database: Database
let api: Api
let folder: string
let app: Extract<Awaited<ReturnType<typeof loadApplication>>, { ok: true }>['app']
let seen: Statement[]

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const { watched, sent } = watchDatabase(database)
  seen = sent
  api = await startApi(YAML, { database: watched })
  const authors = "insert into authors (name) select 'author' from generate_series(1, 1000)"
  await database.query({ text: authors, values: [] })
  await database.query({
    text: `insert into books (title, author_id, pages, lent, read_on)
      select 'title ' || n % 5000, n % 1000 + 1, n % 900, n % 2 = 0, case when n % 3 > 0 then date '2000-01-01' + n % 7000 end
      from generate_series(1, ${ROWS}) n`,
    values: [],
  })
  await database.query({ text: 'analyze books, authors', values: [] })
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  await writeFile(join(folder, 'resources.yaml'), YAML)
  const loaded = await loadApplication({ file: join(folder, 'resources.yaml'), env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  app = loaded.app
})
afterAll(async () => {
  await api.close()
  await database.close()
  await rm(folder, { recursive: true })
})

function resourceNamed(name: string) {
  const resource = app.resources.find(({ spec }) => spec.name === name)
  if (!resource) throw new Error(`no resource ${name}`)
  return resource
}

const explainList = (name: string, query: string, on = database) => {
  const resource = resourceNamed(name)
  return explainRead({ resource, links: app.routes, read: { plan: resource.parseList(query).plan } }, on)
}

/** What is read for the rows of a page, not for its count. */
const pageOf = async (query: string) => {
  const { accesses, advice, rows } = await explainList('book', query)
  const access = accesses.filter(({ counts }) => !counts).map(({ index, rows }) => index ?? `all ${rows}`)
  return { access, advice: advice?.fields, unserved: advice?.unserved, rows: rows.actual }
}

describe('an explanation', () => {
  test.each([
    ['/books/', 'book', ''],
    ['/books/?title=title+7&ordering=-title&page=2', 'book', 'title=title+7&ordering=-title&page=2'],
    ['/books/?read_on__isnull=true', 'book', 'read_on__isnull=true'],
    ['/walk/?ordering=title&page_size=3', 'walk', 'ordering=title&page_size=3'],
  ])('uses the statement of GET %s', async (path, name, query) => {
    seen.splice(0)
    expect((await api.fetch(path)).status).toBe(200)
    const { sql, values } = await explainList(name, query)
    expect({ text: sql, values }).toEqual({ text: seen[0]?.text, values: seen[0]?.values })
  })

  test('uses the statement of GET', async () => {
    seen.splice(0)
    await api.fetch('/books/7/')
    const read = { id: 7n }
    const { sql, values, accesses, rows } = await explainRead(
      { resource: resourceNamed('book'), links: app.routes, read },
      database,
    )
    expect({ text: sql, values }).toEqual({ text: seen[0]?.text, values: seen[0]?.values })
    expect({ accesses, rows: rows.actual }).toEqual({
      accesses: [{ table: 'books', index: 'books_pkey', rows: 1, removed: 0, counts: false }],
      rows: 1,
    })
  })

  test('distinguishes the index of related records from the index of a count', async () => {
    const { accesses } = await explainList('shown', 'expand=author&page_size=3')
    expect(accesses.map(({ table, counts }) => ({ table, counts }))).toEqual([
      { table: 'books', counts: true },
      { table: 'books', counts: false },
      { table: 'authors', counts: false },
    ])
    expect(accesses.at(-1)?.index).toBe('authors_pkey')
  })

  test('uses the statement of a partial record', async () => {
    seen.splice(0)
    expect((await api.fetch('/shown/7/?fields=title&expand=author')).status).toBe(200)
    const resource = resourceNamed('shown')
    const read = { id: 7n, selection: resource.parseSelection('fields=title&expand=author') }
    const { sql, accesses } = await explainRead({ resource, links: app.routes, read }, database)
    expect(sql).toBe(seen[0]?.text)
    expect(accesses.map(({ index, counts }) => ({ index, counts }))).toEqual([
      { index: 'books_pkey', counts: false },
      { index: 'authors_pkey', counts: false },
    ])
  })

  test.each([
    ['', 'books_pkey', [], [], 11],
    ['ordering=-title', 'books_title_id_idx', [], [], 11],
    ['title=title+7', 'books_title_id_idx', [], [], 4],
    ['pages=7', undefined, ['pages', 'id'], [], 11],
    ['ordering=pages', `all ${ROWS}`, ['pages', 'id'], [], 11],
    ['ordering=-pages,title', `all ${ROWS}`, ['pages'], [], 11],
    ['title__contains=nowhere', undefined, [], ['title__contains'], 0],
    ['search=nowhere', undefined, [], ['search'], 0],
    ['lent=true', 'books_pkey', [], [], 11],
    ['pages__gt=898', undefined, ['pages'], [], 11],
    ['pages__gt=898&ordering=pages', `all ${ROWS}`, ['pages', 'id'], [], 11],
  ])('of ?%s names the accesses and the index that would help', async (query, access, advice, unserved, rows) => {
    const found = await pageOf(query)
    expect(found).toEqual({ access: access === undefined ? found.access : [access], advice, unserved, rows })
  })

  test('separates the rows of the count from those of the page', async () => {
    const { accesses } = await explainList('book', '')
    expect(accesses.map(({ counts, rows }) => ({ counts, rows }))).toEqual([
      { counts: true, rows: 10_001 },
      { counts: false, rows: 11 },
    ])
  })

  test('of a statement that is too slow contains only its plan', async () => {
    const slow: Database = Object.create(database, {
      transaction: {
        value: (work: Parameters<Database['transaction']>[0]) =>
          database.transaction((connection) =>
            work({
              query: (statement) => {
                if (statement.text.includes('analyze')) throw new Problem('timeout')
                return connection.query(statement)
              },
            }),
          ),
      },
    }) as Database
    const { ran, rows, accesses } = await explainList('book', 'ordering=pages', slow)
    expect({ ran, ...rows }).toEqual({
      ran: false,
      actual: undefined,
      estimated: 11,
    })
    expect(accesses.every((access) => access.rows === undefined)).toBe(true)
  })
})
