import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Middleware, Plugin } from '../../src/index.js'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../support/database.js'

const YAML = `version: 1
api: { explore: true, prefix: /api }
plugins: [./plugin.mjs]
models:
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer, nullable: true, private: true }
      title: { type: string, max: 50 }
      pages: { type: integer, default: 1 }
      shelf: { type: belongs_to, model: shelf, nullable: true }
      sequel: { type: belongs_to, model: book, nullable: true }
      notes: { type: json, nullable: true }
    indexes: [[title, id]]
resources:
  shelf: { model: shelf, path: /shelves/, filterable: [tenant] }
  book:
    model: book
    path: /books/
    pagination: { count: exact }
    filterable: [title]
    orderable: [title]
    search: [title]
    sparse_fields: true
    expand: { shelf: { resource: shelf }, sequel: { resource: book }, sequel.shelf: { resource: shelf } }
    bulk: [create, partial_update, destroy]
    idempotency: optional
  estimated: { model: book, path: /estimated/, pagination: { page_size: 2, count: capped } }
  walk: { model: book, path: /walk/, orderable: [title], pagination: { style: cursor, page_size: 2 } }
  json: { model: book, path: /json/, dialect: json-server }
mounts:
  - { path: /admin-api, dialect: crud }
`

/** The tenant that a request names is the scope of every resource; a request that names none has no scope. */
const byTenant: Middleware = (context, next) => {
  const tenant = context.headers['x-tenant']
  if (typeof tenant === 'string') {
    const conditions = [{ field: 'tenant', value: Number(tenant) }]
    context.scope('book', conditions)
    context.scope('shelf', conditions)
  }
  return next()
}

const plugin: Plugin = (app) => {
  app.use(byTenant)
  const books = app.resource('book')
  const ids = (rows: readonly { readonly id?: unknown }[]) => rows.map(({ id }) => Number(id))
  app.route('GET', '/stores/', 'stores', async (context) => {
    const batches = []
    for await (const batch of context.store(books).batches(1)) batches.push(...ids(batch))
    const many = await context.store(books).retrieveMany([1n, 2n, 3n, 4n])
    const inside = await context.transaction(async (transaction) => {
      const locked = await transaction.store(books).lock(4n)
      const taken = await transaction.store(books).take(4n)
      const destroyed = await transaction.store(books).destroyMany([3n, 4n])
      return {
        locked: locked !== undefined,
        taken: taken !== undefined,
        destroyed,
        held: await transaction.store(books).lockMany([4n]),
      }
    })
    return { status: 200, body: { batches, many: many.map(({ id }) => Number(id)), ...inside } }
  })
  app.route('GET', '/repeated/', 'repeated', async (context) => {
    for (let times = 0; times < 9; times += 1) context.scope('book', [{ field: 'tenant', value: 7 }])
    return { status: 200, body: ids((await context.store(books).list(books.parseList('').plan)).items) }
  })
  app.route('POST', '/after/', 'after', async (context) => {
    const seen = await new Promise((resolve) => {
      void context.transaction(async (inside) =>
        inside.afterCommit(async (later) =>
          resolve(ids((await later.store(books).list(books.parseList('').plan)).items)),
        ),
      )
    })
    return { status: 200, body: seen }
  })
  app.route('GET', '/wrong/{what}/', 'wrong', (context) => {
    const wrong = WRONG[context.params['what'] ?? '']
    try {
      context.scope(wrong?.resource ?? 'book', wrong ? [wrong] : [])
    } catch (error) {
      return { status: 200, body: String(error) }
    }
    return { status: 200, body: 'fine' }
  })
}

const WRONG: Readonly<Record<string, { resource?: string; field: string; lookup?: 'gt' | 'in'; value: unknown }>> = {
  resource: { resource: 'boook', field: 'tenant', value: 7 },
  field: { field: 'tenand', value: 7 },
  type: { field: 'tenant', value: 'seven' },
  nothing: { field: 'tenant', value: null },
  lookup: { field: 'shelf', lookup: 'gt', value: 1 },
  list: { field: 'tenant', lookup: 'in', value: 7 },
}

let database: TestDatabase
let sent: readonly Statement[]
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watching = watchDatabase(database)
  sent = watching.sent
  api = await startApi(YAML, { database: watching.watched, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

beforeEach(async () => {
  const texts = [
    'truncate books, shelves restart identity',
    `insert into shelves (tenant, name) values (7, 'Mine'), (8, 'Theirs')`,
    `insert into books (tenant, title, shelf_id, sequel_id) values
      (7, 'One', 1, null), (7, 'Two', 2, 1), (7, 'Three', 1, 4), (8, 'Theirs', 2, null), (8, 'Secret', 1, 1)`,
  ]
  for (const text of texts) await database.query({ text, values: [] })
})

const MINE = { 'x-tenant': '7' }
const ask = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await api.fetch(path, {
    method,
    headers: { ...MINE, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = () => JSON.parse(text)
  return { status: response.status, headers: response.headers, text, json }
}
const titles = async () => {
  const { rows } = await database.query({
    text: 'select id::text, tenant::text, title from books order by id',
    values: [],
  })
  return rows.map((cells) => cells.join(' '))
}
const BEFORE = ['1 7 One', '2 7 Two', '3 7 Three', '4 8 Theirs', '5 8 Secret']

describe('within `tenant = 7`', () => {
  test.each([
    ['a list', '/api/books/', [1, 2, 3]],
    ['a filtered list', '/api/books/?title=Theirs', []],
    ['an ordered list', '/api/books/?ordering=-title', [2, 3, 1]],
    ['a search', '/api/books/?search=e', [1, 3]],
    ['a later page', '/api/books/?page=1&page_size=2', [1, 2]],
    ['a list of another resource of the model', '/api/estimated/', [1, 2]],
    ['a cursor list', '/api/walk/?ordering=title', [1, 3]],
    ['a list in a dialect', '/api/json/', [1, 2, 3]],
    ['the records of a dialect by id', '/api/json/?id=1&id=4', [1]],
  ])('%s returns the rows of the scope', async (_, path, ids) => {
    const answer = await ask('GET', path)
    const body = answer.json()
    expect([answer.status, (body.results ?? body).map(({ id }: { id: number }) => id)]).toEqual([200, ids])
  })

  test('a list compares the tenant once, however often the condition is given', async () => {
    const answer = await ask('GET', '/api/repeated/')
    expect([answer.status, answer.json()]).toEqual([200, [1, 2, 3]])
    expect(sent.at(-1)?.values.filter((value) => value === '7')).toHaveLength(1)
  })

  test('cursors page through the rows of the scope', async () => {
    const next =
      /<([^>]*)>; rel="next"/.exec((await ask('GET', '/api/walk/?ordering=title')).headers.get('link') ?? '')?.[1] ?? ''
    const page = await ask('GET', new URL(next, api.url).pathname + new URL(next, api.url).search)
    expect(page.json().map(({ id }: { id: number }) => id)).toEqual([2])
  })

  test('counts are within the scope', async () => {
    const exact = await ask('GET', '/api/books/?page_size=1')
    const capped = await ask('GET', '/api/estimated/')
    const beyond = await ask('GET', '/api/books/?page=9')
    const counts = [exact, capped, beyond].map(({ headers }) => headers.get('x-total-count'))
    expect(counts).toEqual(['3', '3', '3'])
  })

  test('a record outside is not found, whole or in part', async () => {
    for (const path of ['/api/books/4/', '/api/books/4/?fields=title', '/api/books/4/?expand=shelf', '/api/json/4/'])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404])
    expect((await ask('GET', '/api/books/1/?fields=title')).json()).toEqual({ title: 'One' })
  })

  test.each([
    ['PATCH', { title: 'Mine now' }],
    ['PATCH', {}],
    ['PATCH', { notes: { a: 1 } }],
    ['PUT', { title: 'Mine now', pages: 2, shelf: null, sequel: null, notes: null }],
    ['DELETE', undefined],
  ])('%s of a record outside is 404, whatever the precondition: %j', async (method, body) => {
    for (const headers of [{}, { 'if-match': '"abc"' }, { 'if-match': '*' }, { 'if-none-match': '*' }]) {
      expect((await ask(method, '/api/books/4/', body, headers)).status).toBe(404)
    }
    expect(await titles()).toEqual(BEFORE)
  })

  test('preconditions of a record inside still apply', async () => {
    expect((await ask('PATCH', '/api/books/1/', { pages: 2 }, { 'if-match': '"abc"' })).status).toBe(412)
    const etag = (await ask('GET', '/api/books/1/')).headers.get('etag') ?? ''
    expect((await ask('PATCH', '/api/books/1/', { pages: 2 }, { 'if-match': etag })).status).toBe(200)
    expect((await ask('DELETE', '/api/books/2/')).status).toBe(204)
    expect((await ask('DELETE', '/api/json/3/')).status).toBe(200)
    expect(await titles()).toEqual(['1 7 One', '4 8 Theirs', '5 8 Secret'])
  })

  test('a new record gets the values that the scope fixes', async () => {
    expect((await ask('POST', '/api/books/', { title: 'New' })).status).toBe(201)
    expect((await ask('POST', '/api/books/bulk/', [{ title: 'A' }, { title: 'B', pages: 3 }])).status).toBe(201)
    expect((await titles()).slice(5)).toEqual(['6 7 New', '7 7 A', '8 7 B'])
  })

  test.each([
    ['made', 'POST', '/api/shelves/', { name: 'New', tenant: 8 }],
    ['moved', 'PATCH', '/api/shelves/1/', { tenant: 8 }],
    ['replaced', 'PUT', '/api/shelves/1/', { name: 'Mine', tenant: 8 }],
  ])('no record is %s outside', async (_, method, path, body) => {
    const answer = await ask(method, path, body)
    expect([answer.status, answer.json()]).toEqual([
      400,
      expect.objectContaining({
        type: '/problems/validation',
        detail: 'The record would be outside the scope of this request',
      }),
    ])
    const { rows } = await database.query({ text: 'select tenant::text from shelves order by id', values: [] })
    expect(rows).toEqual([['7'], ['8']])
  })

  test.each([
    ['POST', '/api/books/', { title: 'New', shelf: 2 }],
    ['POST', '/api/books/', { title: 'New', sequel: 4 }],
    ['PATCH', '/api/books/1/', { shelf: 2 }],
  ])('a related record outside is treated as missing: %s %s %j', async (method, path, body) => {
    const [name] = Object.keys(body).filter((key) => key !== 'title')
    const hidden = await ask(method, path, body)
    const missing = await ask(method, path, { ...body, [name ?? '']: 99 })
    expect([hidden.status, hidden.json()]).toEqual([409, { ...missing.json(), request_id: hidden.json().request_id }])
    expect((await ask(method, path, { title: 'New', [name ?? '']: 1 })).status).toBe(method === 'POST' ? 201 : 200)
  })

  test('an existing relation to a record outside may remain', async () => {
    expect((await ask('PATCH', '/api/books/2/', { title: 'Still' })).status).toBe(200)
  })

  test('bulk updates and deletes stay within the scope', async () => {
    expect(
      (
        await ask('PATCH', '/api/books/', [
          { id: 1, title: 'A' },
          { id: 4, title: 'B' },
        ])
      ).status,
    ).toBe(404)
    expect((await ask('DELETE', '/api/books/?ids=2,4')).status).toBe(404)
    expect((await ask('POST', '/api/books/bulk/', [{ title: 'A' }, { title: 'B', shelf: 2 }])).status).toBe(409)
    expect(await titles()).toEqual(BEFORE)
    expect((await ask('PATCH', '/api/books/', [{ id: 2, title: 'A' }])).status).toBe(200)
    expect((await ask('DELETE', '/api/books/?ids=2,3')).status).toBe(204)
    expect(await titles()).toEqual(['1 7 One', '4 8 Theirs', '5 8 Secret'])
  })

  test('related records outside are not shown, at any depth', async () => {
    const page = (await ask('GET', '/api/books/?expand=shelf,sequel.shelf')).json()
    const shown = (page.results ?? page).map(({ id, expanded }: { id: number; expanded: Expanded }) => [
      id,
      expanded.shelf?.name,
      expanded.sequel?.id,
      expanded.sequel?.expanded?.shelf?.name,
    ])
    expect(shown).toEqual([
      [1, 'Mine', undefined, undefined],
      [2, undefined, 1, 'Mine'],
      [3, 'Mine', undefined, undefined],
    ])
    expect((await ask('GET', '/api/books/2/?expand=shelf')).json().expanded).toEqual({ shelf: null })
  })

  test('a conflict does not reveal hidden records', async () => {
    const outside = await api.fetch('/api/shelves/1/', { method: 'DELETE' })
    const inside = await ask('DELETE', '/api/shelves/1/')
    expect([outside.status, ((await outside.json()) as { detail: string }).detail]).toEqual([
      409,
      'A record of book still refers to it, by shelf',
    ])
    expect([inside.status, inside.json().detail]).toEqual([409, 'The change conflicts with another record'])
  })

  test('Explore shows the rows of the scope', async () => {
    const page = await ask('GET', '/explore/api/books/')
    expect([page.text.includes('Three'), page.text.includes('Secret'), page.text.includes('Theirs')]).toEqual([
      true,
      false,
      false,
    ])
    expect((await ask('GET', '/explore/api/books/4/')).status).toBe(404)
    expect((await ask('GET', '/explore/')).text).not.toMatch(/\b5 records/)
  })

  test('applies to mounts', async () => {
    expect((await ask('GET', '/admin-api/books/4/')).status).toBe(404)
    expect((await ask('GET', '/admin-api/books/1/')).status).toBe(200)
  })

  test('applies to stores of handlers, in transactions too', async () => {
    expect((await ask('GET', '/api/stores/')).json()).toEqual({
      batches: [1, 2, 3],
      many: [1, 2, 3],
      locked: false,
      taken: false,
      destroyed: 1,
      held: [],
    })
    expect(await titles()).toEqual(BEFORE.filter((row) => row !== '3 7 Three'))
  })

  test('applies to after-commit tasks', async () => {
    expect((await ask('POST', '/api/after/')).json()).toEqual([1, 2, 3])
  })

  test('an idempotency key of another tenant returns no response', async () => {
    const key = { 'idempotency-key': 'one' }
    expect((await ask('POST', '/api/books/', { title: 'Mine' }, key)).status).toBe(201)
    const theirs = await ask('POST', '/api/books/', { title: 'Mine' }, { ...key, 'x-tenant': '8' })
    expect([theirs.status, theirs.headers.get('idempotency-replayed')]).toEqual([201, null])
    const again = await ask('POST', '/api/books/', { title: 'Mine' }, key)
    expect([again.headers.get('idempotency-replayed'), again.json().id]).toEqual(['true', 6])
    expect((await titles()).slice(5)).toEqual(['6 7 Mine', '7 8 Mine'])
  })
})

interface Expanded {
  readonly shelf?: { readonly name: string } | null
  readonly sequel?: { readonly id: number; readonly expanded?: Expanded } | null
}

test('each request has its own scope, with a shared statement text', async () => {
  const ids = async (tenant: string) =>
    (await ask('GET', '/api/books/', undefined, { 'x-tenant': tenant })).json().map(({ id }: { id: number }) => id)
  await ids('7')
  const { kept } = api.statements
  expect([await ids('8'), await ids('7'), await ids('9')]).toEqual([[4, 5], [1, 2, 3], []])
  expect(api.statements.kept).toBe(kept)
})

test('a request without a scope sees all rows', async () => {
  const books = (await (await api.fetch('/api/books/')).json()) as unknown[]
  expect(books).toHaveLength(5)
  expect((await api.fetch('/api/books/4/')).status).toBe(200)
})

test.each([
  ['resource', 'Error: no resource is named `boook`; a resource with a similar name exists: `book`'],
  ['field', 'Error: the model `book` has no field `tenand` for a scope; a field with a similar name exists: `tenant`'],
  ['type', 'Error: the scope of `book` needs a value of the type `integer` to compare `tenant` by `exact`'],
  ['nothing', 'Error: the scope of `book` needs a value of the type `integer` to compare `tenant` by `exact`'],
  [
    'lookup',
    'Error: the scope of `book` cannot compare `shelf` by `gt`; known: `exact`, `ne`, `in`, `not_in`, `isnull`',
  ],
  ['list', 'Error: the scope of `book` needs a list to compare `tenant` by `in`'],
])('an invalid scope is an error: %s', async (what, message) => {
  expect(await (await api.fetch(`/api/wrong/${what}/`)).json()).toBe(message)
})
