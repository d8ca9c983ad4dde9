import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database, Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project } from '../support/cli.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, testDatabaseKind, watchDatabase } from '../support/database.js'

const YAML = `version: 1
api: { prefix: /api }
plugins: [./shelf.mjs]
models:
  publisher:
    table: publishers
    fields:
      id: { type: uuid, primary_key: true }
      name: { type: string, max: 50 }
      founder: { type: belongs_to, model: author, nullable: true }
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 50 }
      born: { type: date, nullable: true }
      pay: { type: decimal, precision: 20, scale: 2, nullable: true, private: true }
      publisher: { type: belongs_to, model: publisher, nullable: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      printed_at: { type: timestamp, nullable: true }
      notes: { type: json, nullable: true }
      available: { type: boolean, nullable: true }
      author: { type: belongs_to, model: author, nullable: true }
      author_id: { type: belongs_to, model: publisher, nullable: true, label: House }
      sequel_to: { type: belongs_to, model: book, nullable: true }
resources:
  publisher: { model: publisher, path: /publishers/ }
  author: { model: author, path: /authors/ }
  book: { model: book, path: /books/ }
`

// `graph` and `inside` answer the graph that the query names; `undone` that of a book which is then taken back.
const PLUGIN = `
import { isDeepStrictEqual } from 'node:util'

export default (app) => {
  const asked = ({ search }) => {
    const query = new URLSearchParams(search)
    const resource = app.resource(query.get('resource') ?? 'book')
    return { resource, ids: query.getAll('id').map((id) => resource.parseId(id)), relations: query.get('relations') ?? '' }
  }
  const read = (context) => {
    const { resource, ids, relations } = asked(context)
    return context.graph(resource, ids, relations)
  }
  app.route('GET', '/graph/', 'graph', async (context) => ({ status: 200, body: await read(context) }))
  app.route('GET', '/inside/', 'inside', (context) =>
    context.transaction(async (inside) => ({ status: 200, body: await read(inside) })),
  )
  app.route('GET', '/same/', 'same', async (context) => {
    const { resource, ids } = asked(context)
    const rows = await Promise.all(ids.map((id) => context.store(resource).retrieve(id)))
    const found = await read(context)
    return { status: 200, body: rows.every((row, at) => isDeepStrictEqual(row, found[at])) }
  })
  app.route('GET', '/undone/', 'undone', async (context) => {
    const books = app.resource('book')
    const seen = {}
    const undo = new Error('taken back')
    const elsewhere = new URLSearchParams(context.search).has('elsewhere')
    await context
      .transaction(async (inside) => {
        const author = await inside.store(app.resource('author')).create({ name: 'New', pay: '1.00' })
        const { id } = await inside.store(books).create({ title: 'New', author: author.id })
        seen.id = id
        seen.inside = await inside.graph(books, [id], 'author')
        if (elsewhere) seen.elsewhere = await context.graph(books, [id], 'author')
        throw undo
      })
      .catch((error) => {
        if (error !== undo) throw error
      })
    seen.after = await context.graph(books, [seen.id], 'author')
    return { status: 200, body: seen }
  })
}
`

const HOUSE = '0190163d-8694-739b-aea5-966c26f8ad91'

const RECORDS = `
insert into publishers (id, name) values ('${HOUSE}', 'House');
insert into authors (id, name, born, pay, publisher_id) overriding system value values
  (101, 'Ann', '1900-02-28', 123456789012345678.90, '${HOUSE}'), (102, 'Bob', null, null, null);
update publishers set founder_id = 101;
insert into books (id, title, printed_at, notes, available, author_id, author_id_id, sequel_to_id) overriding system value values
  (11, 'First', '2024-02-29T12:00:00.000001Z', '{"big": 9007199254740993, "q": "?"}', true, 101, '${HOUSE}', null),
  (9007199254740993, 'Second', null, null, null, 101, null, 11),
  (9223372036854775807, 'Third', null, null, null, 102, null, 9007199254740993),
  (14, 'Fourth', null, null, null, null, null, 14)
`

let project: Project
let database: Database
let api: Api
let sent: Statement[]

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML, 'shelf.mjs': PLUGIN })
  database = await openTestDatabase(ddlOf(specOf(YAML)) + RECORDS)
  const watch = watchDatabase(database)
  sent = watch.sent
  api = await startApi(join(project.folder, 'resources.yaml'), { database: watch.watched })
})
beforeEach(() => {
  sent.length = 0
})
afterAll(async () => {
  await api.close()
  await database.close()
  await project.remove()
})

type Found = Readonly<Record<string, unknown>>

async function read(route: string, query: string): Promise<readonly Found[]> {
  const response = await api.fetch(`/api/${route}/?${query}`)
  expect(response.status).toBe(200)
  return (await response.json()) as readonly Found[]
}

const ALL = 'id=11&id=9007199254740993&id=9223372036854775807&id=14'

describe.each(['graph', 'inside'])('the graph read by the route %s', (route) => {
  test('contains the related records instead of their ids', async () => {
    const publisher = { id: HOUSE, name: 'House', founder: 101 }
    const author = { id: 101, name: 'Ann', born: '1900-02-28', pay: '123456789012345678.90', publisher }
    expect(await read(route, 'id=11&relations=author.publisher')).toMatchObject([
      {
        title: 'First',
        printed_at: '2024-02-29T12:00:00.000001Z',
        available: true,
        author,
        author_id: HOUSE,
        sequel_to: null,
      },
    ])
  })

  test.each([
    ['no relation', '', 1],
    ['one relation', 'author', 2],
    ['a relation of a relation', 'author.publisher', 3],
    ['paths with a common beginning', 'author, author.publisher ,author.publisher.founder', 4],
    ['relations side by side', 'author,sequel_to', 3],
    ['a relation that has the name of the column of another', 'author,author_id', 3],
    ['models in a circle', 'author.publisher.founder.publisher', 5],
    ['a model that refers to itself', 'sequel_to.sequel_to', 3],
  ])('takes one statement and one for each relation: %s', async (_what, relations, statements) => {
    expect(await read(route, `${ALL}&relations=${relations}`)).toHaveLength(4)
    expect(sent).toHaveLength(statements)
  })

  test('returns records in the order of the ids, repeats repeated ones, and leaves out missing ones', async () => {
    const found = await read(route, 'id=14&id=77&id=11&id=9223372036854775807&id=14')
    expect(found.map(({ title }) => title)).toEqual(['Fourth', 'First', 'Third', 'Fourth'])
  })

  test('follows relations to the record itself and to nothing', async () => {
    const found = await read(route, `${ALL}&relations=author.publisher,sequel_to.sequel_to`)
    expect(found).toMatchObject([
      { author: { publisher: { name: 'House' } }, sequel_to: null },
      { author: { publisher: { name: 'House' } }, sequel_to: { title: 'First', sequel_to: null } },
      {
        author: { name: 'Bob', publisher: null },
        sequel_to: { title: 'Second', sequel_to: { title: 'First', sequel_to: null } },
      },
      { author: null, sequel_to: { title: 'Fourth', sequel_to: { title: 'Fourth' } } },
    ])
  })

  test('keeps every digit of 64-bit ids', async () => {
    const response = await api.fetch(`/api/${route}/?id=9223372036854775807&relations=sequel_to`)
    const text = await response.text()
    expect(text).toMatch(/^\[\{"id":9223372036854775807,/)
    expect(text).toContain('"sequel_to":{"id":9007199254740993,')
  })

  test.each([
    ['no ids', '', 0],
    ['ids that can be none', 'id=x&id=9223372036854775808', 0],
    ['ids of no record', 'id=77', 1],
  ])('is empty for %s', async (_what, ids, statements) => {
    expect(await read(route, `${ids}&relations=author`)).toEqual([])
    expect(sent).toHaveLength(statements)
  })

  test.each([
    ['auhtor', 'the model `book` has no relation `auhtor`; a relation with a similar name exists: `author`'],
    [
      'author.publsher',
      'the model `author` has no relation `publsher`; a relation with a similar name exists: `publisher`',
    ],
    ['title', 'the model `book` has no relation `title`; known: `author`, `author_id`, `sequel_to`'],
    ['author,', 'the model `book` has no relation ``; known: `author`, `author_id`, `sequel_to`'],
  ])('rejects the relations %j before reading a record', async (relations, message) => {
    const response = await api.fetch(`/api/${route}/?id=11&relations=${relations}`)
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('relation')
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({ cause: { message } })
    expect(sent).toEqual([])
  })
})

test.each([
  ['book', ALL],
  ['author', 'id=101&id=102'],
  ['publisher', `id=${HOUSE}`],
])('the values of a %s equal those of its store', async (resource, ids) => {
  expect(await read('same', `resource=${resource}&${ids}`)).toBe(true)
})

test('a graph in a transaction sees uncommitted changes, which are later rolled back', async () => {
  expect(await read('undone', '')).toMatchObject({
    inside: [{ title: 'New', author: { name: 'New', pay: '1.00', publisher: null } }],
    after: [],
  })
})

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

onServer('a graph outside of a transaction does not see what is not committed (needs two sessions)', async () => {
  expect(await read('undone', 'elsewhere')).toMatchObject({ inside: [{ title: 'New' }], elsewhere: [] })
})

test('a thousand records take as many statements as one', async () => {
  const ids = "select 1000000 + n, 'Many', 101 + n % 2 from generate_series(1, 1000) n"
  await database.query({ text: `insert into books (id, title, author_id) overriding system value ${ids}`, values: [] })
  const query = Array.from({ length: 1000 }, (_, at) => `id=${1_000_001 + at}`).join('&')
  const found = await read('graph', `${query}&relations=author.publisher`)
  expect(found.map(({ author }) => (author as Found)['id'])).toEqual(
    Array.from({ length: 1000 }, (_, at) => 102 - (at % 2)),
  )
  expect(sent).toHaveLength(3)
})

test('an unavailable database is a 503 without SQL', async () => {
  const away = await openTestDatabase()
  const unavailable = await startApi(join(project.folder, 'resources.yaml'), { database: away })
  await away.close()
  const response = await unavailable.fetch('/api/graph/?id=11&relations=author')
  await unavailable.close()
  expect(response.status).toBe(503)
  expect(await response.text()).not.toMatch(/select|books|knex/)
})
