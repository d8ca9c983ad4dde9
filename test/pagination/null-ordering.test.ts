import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Database, explainRead, loadApplication, type PlanStep, renderOpenApi } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'
import { checkText, ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'
import { linksOf } from '../support/links.js'

const ROWS = 20_000
/** So many of them have no day. */
const NULLS = 6_000

const BOOKS = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      shelf: { type: integer }
      read_on: { type: date, nullable: true }
    indexes:
      - [read_on, id]
      - [shelf, read_on, id]
resources:
  few: { model: book, path: /few/, filterable: [shelf], orderable: [read_on], pagination: { count: none, max_offset: 20000 } }
`
const YAML = `${BOOKS}  last: { model: book, path: /last/, filterable: { shelf: [exact], read_on: [lt] }, orderable: [read_on, shelf], nulls: { read_on: last }, pagination: { count: none, max_offset: 20000 } }
  first: { model: book, path: /first/, orderable: [read_on], default_order: [-read_on], nulls: { read_on: first }, pagination: { style: cursor, page_size: 3, count: none } }
  plain: { model: book, path: /plain/, orderable: [read_on], pagination: { style: cursor, page_size: 3, count: none } }
mounts:
  - { path: /admin, dialect: json-server }
`

let database: Database
let api: Api
let folder: string
let app: Extract<Awaited<ReturnType<typeof loadApplication>>, { ok: true }>['app']

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await database.query({
    text: `insert into books (shelf, read_on)
      select n % 2, case when n > ${NULLS} then date '2000-01-01' + n * 7 % 5000 end from generate_series(1, ${ROWS}) n`,
    values: [],
  })
  await database.query({ text: 'vacuum analyze books', values: [] })
  api = await startApi(YAML, { database })
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

interface Book {
  readonly id: number
  readonly read_on: string | null
}

const daysOf = async (path: string) => {
  const response = await api.fetch(path)
  expect([path, response.status]).toEqual([path, 200])
  const books = (await response.json()) as readonly Book[]
  return books.map(({ read_on }) => read_on)
}

describe('records without a value', () => {
  test.each([
    ['/last/?ordering=read_on', '2000-01-01'],
    ['/last/?ordering=-read_on', '2013-09-08'],
    ['/first/?ordering=read_on', null],
    ['/first/?ordering=-read_on', null],
    ['/first/', null],
    ['/few/?ordering=read_on', '2000-01-01'],
    ['/few/?ordering=-read_on', null],
    ['/admin/last?_sort=read_on&_limit=2', '2000-01-01'],
    ['/admin/last?_sort=-read_on&_limit=2', '2013-09-08'],
    ['/admin/first?_sort=read_on&_order=desc&_limit=2', null],
  ])('come first or last as configured: %s starts with %s', async (path, day) => {
    expect((await daysOf(path))[0]).toBe(day)
  })

  test('follow the others, ordered by id', async () => {
    const response = await api.fetch(`/last/?ordering=-read_on&page=${(ROWS - NULLS) / 8 + 1}&page_size=8`)
    const after = (await response.json()) as readonly Book[]
    expect(after.map(({ id, read_on }) => [id, read_on])).toEqual(
      Array.from({ length: 8 }, (_, place) => [NULLS - place, null]),
    )
    const edge = await daysOf('/last/?ordering=-read_on&page=148&page_size=95')
    expect([edge.indexOf(null), edge.length]).toEqual([ROWS - NULLS - 147 * 95, 95])
  })

  test('have another position in another order, whose cursor is rejected', async () => {
    const url = linksOf(await api.fetch('/first/?ordering=read_on'))['next'] ?? ''
    expect((await api.fetch(url)).status).toBe(200)
    const rejected = await api.fetch(url.replace('/first/', '/plain/'))
    expect([rejected.status, ((await rejected.json()) as { readonly detail: string }).detail]).toEqual([
      400,
      'the parameter `cursor` belongs to another `ordering`; start again without it',
    ])
  })

  test('are documented in the OpenAPI document', () => {
    const described = (path: string) => {
      const { paths } = JSON.parse(renderOpenApi(app, '3.1')) as {
        readonly paths: Record<string, { get: { parameters: readonly { name: string; description: string }[] } }>
      }
      return paths[path]?.get.parameters.find(({ name }) => name === 'ordering')?.description
    }
    expect([described('/last/'), described('/few/')]).toEqual([
      expect.stringMatching(/ Nulls come last in either direction: `read_on`\.$/),
      expect.stringMatching(/ Nulls come last, or first if the field is descending: `read_on`\.$/),
    ])
  })
})

const stepsOf = (step: PlanStep): readonly PlanStep[] => [step, ...step.steps.flatMap(stepsOf)]

const explain = async (name: string, query: string) => {
  const resource = app.resources.find(({ spec }) => spec.name === name)
  if (!resource) throw new Error(`no resource ${name}`)
  const read = { plan: resource.parseList(query).plan }
  const { root, accesses } = await explainRead({ resource, links: app.routes, read }, database)
  const steps = stepsOf(root)
  return {
    indexes: [...new Set(accesses.map(({ index }) => index))],
    rows: accesses.reduce((sum, { rows = 0 }) => sum + rows, 0),
    sorted: Math.max(0, ...steps.filter(({ type }) => /Sort/.test(type)).map(({ steps: [from] }) => from?.actual ?? 0)),
  }
}

describe('a page in an order with a position for nulls', () => {
  test.each([
    ['last', 'ordering=read_on', 'books_read_on_id_idx'],
    ['last', 'ordering=-read_on', 'books_read_on_id_idx'],
    ['last', 'ordering=-read_on&page=20', 'books_read_on_id_idx'],
    ['last', 'ordering=-read_on&read_on__lt=2010-01-01', 'books_read_on_id_idx'],
    ['last', 'ordering=-read_on&shelf=1', 'books_shelf_read_on_id_idx'],
    ['first', 'ordering=read_on', 'books_read_on_id_idx'],
    ['first', 'ordering=-read_on', 'books_read_on_id_idx'],
  ])('of %s, ?%s, is read from an ascending index, in two parts', async (name, query, index) => {
    const { indexes, rows, sorted } = await explain(name, query)
    const passed = query.includes('page=20') ? 190 : 0
    expect(indexes).toEqual([index])
    expect(rows).toBeLessThanOrEqual(2 * (passed + 11))
    expect(sorted).toBeLessThanOrEqual(2 * (passed + 11))
  })

  test.each(['ordering=read_on', 'ordering=-read_on'])('after a cursor, ?%s, reads as few rows', async (query) => {
    for (let url = `/first/?${query}`, page = 0; page < 3; page++) {
      const search = url.split('?')[1] ?? ''
      const { indexes, rows } = await explain('first', search)
      expect(indexes).toEqual(['books_read_on_id_idx'])
      expect(rows).toBeLessThanOrEqual(8)
      url = linksOf(await api.fetch(url))['next'] ?? ''
    }
  })

  test('at a large offset sorts at most a page, and skips rows in an index', async () => {
    const { indexes, rows, sorted } = await explain('last', 'ordering=-read_on&page=1500')
    expect(indexes.toSorted()).toEqual(['books_pkey', 'books_read_on_id_idx'])
    expect(rows).toBeLessThanOrEqual(2 * ROWS)
    expect(sorted).toBeLessThanOrEqual(22)
  })
})

describe('check', () => {
  const indexesFor = async (resource: string) => {
    const file = join(folder, 'indexes.yaml')
    const text = BOOKS.replace(/ {4}indexes:\n(?: {6}- .*\n)+/, '').replace(/ {2}few: .*\n/, '')
    await writeFile(file, `${text}  all: { model: book, path: /all/, ${resource} }\n`)
    const loaded = await loadApplication({ file, env: {} })
    return loaded.ok ? loaded.warnings().map(({ help: [line] }) => line) : loaded.diagnostics
  }

  test.each([
    ['orderable: [read_on], nulls: { read_on: last }', '[[read_on, id]]'],
    ['default_order: [-read_on], nulls: { read_on: last }', '[[read_on, id]]'],
    // Two parts are made of the first field alone; within it, what follows is sorted.
    ['default_order: [shelf, read_on], nulls: { read_on: last }', '[[shelf, read_on, id]]'],
    ['default_order: [shelf, read_on], nulls: { read_on: first }', '[[shelf]]'],
  ])('requires, for %s, the index %s', async (resource, indexes) => {
    expect(await indexesFor(resource)).toEqual([`add under \`models.book\`: \`indexes: ${indexes}\``])
  })
})

describe('a position for nulls', () => {
  const withNulls = (nulls: string) => BOOKS.replace('[read_on], pag', `[read_on], nulls: { ${nulls} }, pag`)
  const column =
    BOOKS.split('\n')
      .find((line) => line.includes('few:'))
      ?.indexOf(' pag') ?? 0

  test.each([
    ['an unknown field', 'read_in: last', `14:${column + 11} SC305`],
    ['a field that is never null', 'id: last', `14:${column + 11} SC322`],
    ['a field that no list orders by', 'lent_on: last', `14:${column + 11} SC322`],
    ['an unknown position', 'read_on: end', `14:${column + 20} SC204`],
  ])('of %s is rejected', (_name, nulls, expected) => {
    const more = '      lent_on: { type: date, nullable: true }\n    indexes:'
    const lines = mistakesOf(withNulls(nulls).replace('    indexes:', more))
    expect(lines.map((line) => line.replace(/^15:/, '14:'))).toEqual([expected])
  })

  test('is rejected with a suggestion', () => {
    const found = checkText(withNulls('shelf: first'))
    const [mistake] = Array.isArray(found) ? found : []
    expect([mistake?.message, mistake?.help]).toEqual([
      '`shelf` is never null',
      ['remove it, or add `nullable: true` to the field'],
    ])
  })

  test('is accepted only for a field of the default order', () => {
    const text = BOOKS.replace('orderable: [read_on]', 'default_order: [-read_on], nulls: { read_on: last }')
    expect(mistakesOf(text)).toEqual([])
  })
})

test('nulls have their position in lists that are filtered by the same field of a related record', async () => {
  const nodes = await startApi(`version: 1
api: { prefix: "" }
models:
  node: { fields: { id: { type: bigint, primary_key: true }, title: { type: string, nullable: true }, parent: { type: belongs_to, model: node, nullable: true } } }
resources:
  node: { model: node, path: /nodes/, filterable: { parent.title: [exact] }, orderable: [title], nulls: { title: first } }
`)
  await nodes.database.query({
    text: `insert into node (title, parent_id) values ('root', null), ('b', 1), (null, 1), ('a', 1)`,
    values: [],
  })
  const response = await nodes.fetch('/nodes/?ordering=title&parent.title=root')
  const found = (await response.json()) as readonly { readonly title: string | null }[]
  expect(found.map(({ title }) => title)).toEqual([null, 'a', 'b'])
  await nodes.close()
})
