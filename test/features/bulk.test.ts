import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Hooks, type Plugin, Problem, type Resource } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../support/database.js'

const MODELS = `
version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100, unique: true }
      pages: { type: integer, default: 7 }
      extra: { type: json, nullable: true }
      changed_at: { type: timestamp, auto: on_update, nullable: true, private: true }
`
const CONFIG = `${MODELS}
plugins: [./plugin.mjs]
resources:
  book: { model: book, path: /books/, bulk: [create, partial_update, destroy], bulk_max: 120, idempotency: optional }
  watched: { model: book, path: /watched/, bulk: [create, partial_update, destroy] }
  few: { model: book, path: /few/, bulk: [create], bulk_max: 2 }
  plain: { model: book, path: /plain/ }
mounts:
  - { path: /admin-api, dialect: json-server }
`

interface Book {
  readonly title: string
  readonly pages: number
}
const hooks = {
  beforeCreate: jest.fn<NonNullable<Hooks<Book>['beforeCreate']>>(),
  afterCreate: jest.fn<NonNullable<Hooks<Book>['afterCreate']>>(),
  beforeUpdate: jest.fn<NonNullable<Hooks<Book>['beforeUpdate']>>(),
  beforeDestroy: jest.fn<NonNullable<Hooks<Book>['beforeDestroy']>>(),
  afterCommit: jest.fn<NonNullable<Hooks<Book>['afterCommit']>>(),
}
let resourceOf: () => Resource
const plugin: Plugin = (app) => {
  resourceOf = () => app.resource('watched')
  app.hooks<Book>('watched', hooks)
}

let database: TestDatabase
let api: Api
let sent: { readonly text: string }[]
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(CONFIG)))
  const watching = watchDatabase(database)
  sent = watching.sent
  api = await startApi(CONFIG, { plugin, database: watching.watched, checkResponses: true })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  jest.resetAllMocks()
  await database.query({ text: 'truncate books restart identity', values: [] })
  await database.query({ text: `insert into books (title) values ('a'), ('b'), ('c')`, values: [] })
  sent.length = 0
})

const titles = async () =>
  (await database.query({ text: `select title || pages from books order by id`, values: [] })).rows.flat()
const UNTOUCHED = ['a7', 'b7', 'c7']
const problemOf = async (answer: Response) => {
  const { detail, errors = {} } = (await answer.json()) as { detail: string; errors?: Record<string, string> }
  return [answer.status, detail, errors] as const
}

describe('POST of an array', () => {
  test('creates the records in order, with defaults for omitted fields', async () => {
    const answer = await api.send('POST', '/api/books/', [
      { title: 'x', extra: { n: 1.5 } },
      { title: 'y', pages: 9 },
    ])
    expect([answer.status, answer.headers.get('location'), answer.headers.get('etag')]).toEqual([201, null, null])
    expect(await answer.json()).toEqual([
      { id: 4, title: 'x', pages: 7, extra: { n: 1.5 } },
      { id: 5, title: 'y', pages: 9, extra: null },
    ])
  })

  test('uses one statement for all of them', async () => {
    const many = Array.from({ length: 120 }, (_, index) => ({ title: `book ${index}` }))
    expect((await api.send('POST', '/api/books/', many)).status).toBe(201)
    expect(sent).toHaveLength(1)
    expect((await titles()).slice(3)).toEqual(many.map(({ title }) => `${title}7`))
  })

  test('creates nothing if the database rejects one record', async () => {
    const answer = await api.send('POST', '/api/books/', [{ title: 'x' }, { title: 'b' }])
    expect(await problemOf(answer)).toEqual([
      409,
      'Title is taken by another record',
      { '1.title': 'Title is taken by another record' },
    ])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('reports the later of two duplicates', async () => {
    const answer = await api.send('POST', '/api/books/', [{ title: 'x, y' }, { title: 'z' }, { title: 'x, y' }])
    expect((await problemOf(answer))[2]).toEqual({ '2.title': 'Title is taken by another record' })
  })

  test('counts an invalid key once', async () => {
    const answer = await api.send('PATCH', '/api/books/', [{ id: 'x', title: 5 }])
    expect((await problemOf(answer)).slice(1)).toEqual([
      '2 fields are invalid',
      { '0.id': expect.any(String), '0.title': expect.any(String) },
    ])
    const one = await api.send('PATCH', '/api/books/', [{ id: 'x', title: 'y' }])
    expect(await problemOf(one)).toEqual([400, 'Id must be an integer', { '0.id': 'Id must be an integer' }])
  })

  test('names errors by the index of their item, without querying the database', async () => {
    const answer = await api.send('POST', '/api/books/', [{ title: 'x' }, { title: 5, size: 1 }, {}])
    expect(await problemOf(answer)).toEqual([
      400,
      '3 fields are invalid',
      {
        '1.title': 'Title must be a string',
        '1.size': '`size` is not a field here; the fields are title, pages, extra',
        '2.title': 'Title is required',
      },
    ])
    expect(sent).toEqual([])
  })

  test.each([
    ['an empty array', '[]', 'the array must not be empty'],
    ['too many items', '[{}, {}, {}]', 'the body has more than 2 items'],
    ['an item that is not an object', '[{"title":"x"}, 5]', 'item 1 of the body must be a JSON object'],
    ['a nested array', '[[{}]]', 'item 0 of the body must be a JSON object'],
    ['an unclosed array', '[{"title":"x"},', 'the body is not valid JSON at line 1, column 16'],
    ['text after the array', '[{"title":"x"}] 1', 'the body is not valid JSON at line 1, column 17'],
    [
      'a duplicate key',
      '[{"title":"x"},{"title":"x","title":"y"}]',
      'the body has the key `title` twice in one object',
    ],
  ])('is rejected for %s', async (_, body, detail) => {
    const answer = await api.fetch('/api/few/', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect((await problemOf(answer)).slice(0, 2)).toEqual([400, detail])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test.each([
    ['POST', '/api/books/'],
    ['POST', '/api/books/bulk/'],
    ['PATCH', '/api/books/'],
  ])('is rejected without a Content-Type: %s %s', async (method, path) => {
    const answer = await api.fetch(path, { method, body: Buffer.from('[{"title":"x"}]') })
    const detail = 'the request has no Content-Type; it must be application/json'
    expect((await problemOf(answer)).slice(0, 2)).toEqual([415, detail])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('creates one record if the body is an object', async () => {
    const answer = await api.send('POST', '/api/books/', { title: 'x' })
    expect([answer.status, answer.headers.get('location')]).toEqual([201, '/api/books/4/'])
  })

  test('runs once for its key', async () => {
    const key = { 'idempotency-key': 'k-1' }
    const make = () => api.send('POST', '/api/books/', [{ title: 'x' }, { title: 'y' }], key)
    const [first, second] = [await make(), await make()]
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(await second.text()).toBe(await first.text())
    expect(await titles()).toHaveLength(5)
    expect((await api.send('POST', '/api/books/', [{ title: 5 }], { 'idempotency-key': 'k-2' })).status).toBe(400)
  })
})

describe('POST of an array to the bulk path', () => {
  const make = (path: string, body: unknown, headers = {}) => api.send('POST', path, body, headers)

  test('creates the records, as on the path of the resource', async () => {
    const answer = await make('/api/books/bulk/', [{ title: 'x' }, { title: 'y', pages: 9 }])
    expect([answer.status, answer.headers.get('location'), answer.headers.get('etag')]).toEqual([201, null, null])
    expect(await answer.json()).toEqual([
      { id: 4, title: 'x', pages: 7, extra: null },
      { id: 5, title: 'y', pages: 9, extra: null },
    ])
    expect(sent).toHaveLength(1)
  })

  test('is the only bulk create in a dialect without its own', async () => {
    expect((await make('/admin-api/books/bulk', [{ title: 'x' }])).status).toBe(201)
    expect(await titles()).toHaveLength(4)
  })

  test('runs once for its key', async () => {
    const key = { 'idempotency-key': 'k-3' }
    const first = await make('/api/books/bulk/', [{ title: 'x' }], key)
    const second = await make('/api/books/bulk/', [{ title: 'x' }], key)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(await second.text()).toBe(await first.text())
    expect(await titles()).toHaveLength(4)
  })

  test('runs hooks', async () => {
    hooks.beforeCreate.mockImplementation(({ values }) => ({ title: `${values.title}!` }))
    expect(await (await make('/api/watched/bulk/', [{ title: 'x' }])).json()).toMatchObject([{ title: 'x!' }])
    expect(hooks.afterCommit).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['a single object', '/api/few/bulk/', { title: 'x' }, 'the body must be an array of JSON objects'],
    ['too many items', '/api/few/bulk/', [{}, {}, {}], 'the body has more than 2 items'],
    ['a query parameter', '/api/few/bulk/?dry=1', [{ title: 'x' }], expect.stringContaining('`dry`')],
  ])('is rejected for %s', async (_, path, body, detail) => {
    expect((await problemOf(await make(path, body))).slice(0, 2)).toEqual([400, detail])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('does not exist unless declared', async () => {
    expect((await make('/api/plain/bulk/', [{ title: 'x' }])).status).toBe(405)
  })

  test('OPTIONS describes its body', async () => {
    const { headers } = await api.fetch('/api/few/bulk/', { method: 'OPTIONS' })
    expect([headers.get('allow'), headers.get('accept-post')]).toEqual(['POST, OPTIONS', 'application/json'])
  })
})

describe('PATCH of an array', () => {
  const change = (body: unknown, headers = {}) => api.send('PATCH', '/api/books/', body, headers)

  test('updates each record by its id, and returns them in order', async () => {
    await api.send('PATCH', '/api/books/1/', { extra: { kept: 1, gone: 2 } })
    const answer = await change([{ id: 3, pages: 1 }, { id: 1, title: 'A', extra: { gone: null } }, { id: 2 }])
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual([
      { id: 3, title: 'c', pages: 1, extra: null },
      { id: 1, title: 'A', pages: 7, extra: { kept: 1 } },
      { id: 2, title: 'b', pages: 7, extra: null },
    ])
    expect(await titles()).toEqual(['A7', 'b7', 'c1'])
  })

  test('names unknown ids, and does nothing', async () => {
    const answer = await change([{ id: 1, pages: 1 }, { id: 9, pages: 1 }, { id: 8 }])
    expect(await problemOf(answer)).toEqual([
      404,
      'no record has the id `9`, `8`; nothing was changed',
      { '1.id': 'Id does not exist', '2.id': 'Id does not exist' },
    ])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('names the record whose update the database rejects, and does nothing', async () => {
    const answer = await change([
      { id: 1, pages: 1 },
      { id: 2, title: 'c' },
    ])
    expect(await problemOf(answer)).toEqual([
      409,
      'Title is taken by another record',
      { '1.title': 'Title is taken by another record' },
    ])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test.each([
    ['an item without an id', [{ pages: 1 }], { '0.id': 'Id is required' }],
    [
      'an id of another type',
      [{ id: 'x', pages: 'y' }],
      { '0.id': 'Id must be an integer', '0.pages': 'Pages must be an integer' },
    ],
    ['a duplicate id', [{ id: 1 }, { id: 2 }, { id: 1 }], { '2.id': 'Id is the same as in item 0' }],
  ])('is rejected for %s', async (_, body, errors) => {
    const [status, , found] = await problemOf(await change(body))
    expect([status, found]).toEqual([400, errors])
    expect(sent).toEqual([])
  })

  test.each([
    ['a single object', { id: 1 }, {}, 'the body must be an array of JSON objects'],
    [
      'If-Match',
      [{ id: 1 }],
      { 'if-match': '*' },
      'If-Match applies to a single record, but this request names several',
    ],
  ])('is rejected for %s', async (_, body, headers, detail) => {
    expect((await problemOf(await change(body, headers))).slice(0, 2)).toEqual([400, detail])
  })
})

describe('DELETE with ids', () => {
  const destroy = (search: string, headers = {}) => api.fetch(`/api/books/${search}`, { method: 'DELETE', headers })

  test('deletes them, in a constant number of statements', async () => {
    const answer = await destroy('?ids=3,1')
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(await titles()).toEqual(['b7'])
    expect(sent).toHaveLength(2)
  })

  test.each([
    ['?ids=1,9', 'no record has the id `9`; nothing was changed', '1.id'],
    ['?ids=01,2', 'no record has the id `01`; nothing was changed', '0.id'],
  ])('%s names unknown ids, and does nothing', async (search, detail, key) => {
    expect(await problemOf(await destroy(search))).toEqual([404, detail, { [key]: 'Id does not exist' }])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test.each([
    ['', 'the parameter ids is missing: it lists the keys of the records to delete, such as ids=1,2'],
    ['?ids=', 'the parameter ids is missing: it lists the keys of the records to delete, such as ids=1,2'],
    ['?ids=1&all=true', '`all` is not a parameter here; the only one is ids'],
    ['?ids=1&ids=2', 'the parameter `ids` is given twice; give it once'],
    ['?ids=1,2,1', 'the parameter ids names `1` twice'],
    [
      `?ids=${Array.from({ length: 121 }, (_, index) => index).join()}`,
      'the parameter ids lists 121 records; at most 120 are allowed',
    ],
  ])('is rejected for the query %j', async (search, detail) => {
    expect((await problemOf(await destroy(search))).slice(0, 2)).toEqual([400, detail])
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('is rejected with a precondition', async () => {
    expect((await destroy('?ids=1', { 'if-match': '*' })).status).toBe(400)
  })

  test('returns the records if the dialect does', async () => {
    const answer = await api.fetch('/admin-api/books/?ids=2,1', { method: 'DELETE' })
    expect(await answer.json()).toMatchObject([{ id: 2 }, { id: 1 }])
    expect(await titles()).toEqual(['c7'])
  })
})

describe('hooks run for each record', () => {
  test('of a create, and can change the stored values', async () => {
    hooks.beforeCreate.mockImplementation(({ values }) => ({ title: `${values.title}!` }))
    hooks.afterCreate.mockImplementation(async ({ context, id }) => {
      await context.store(resourceOf()).update(id, { pages: 2 })
    })
    const answer = await api.send('POST', '/api/watched/', [{ title: 'x' }, { title: 'y' }])
    expect(await answer.json()).toMatchObject([
      { title: 'x!', pages: 2 },
      { title: 'y!', pages: 2 },
    ])
    expect(hooks.afterCommit.mock.calls.map(([{ id, operation }]) => [id, operation])).toEqual([
      [4n, 'create'],
      [5n, 'create'],
    ])
  })

  test('of an update and a delete', async () => {
    hooks.beforeUpdate.mockImplementation(({ values }) => ({ pages: Number(values.pages) + 1 }))
    const answer = await api.send('PATCH', '/api/watched/', [
      { id: 2, pages: 1 },
      { id: 1, pages: 2 },
    ])
    expect(await answer.json()).toMatchObject([
      { id: 2, pages: 2 },
      { id: 1, pages: 3 },
    ])
    await api.fetch('/api/watched/?ids=3,2', { method: 'DELETE' })
    expect(hooks.beforeDestroy.mock.calls.map(([{ id }]) => id)).toEqual([3n, 2n])
    expect(hooks.afterCommit).toHaveBeenCalledTimes(4)
  })

  test.each([
    ['returns an invalid value', () => ({ title: 'x'.repeat(101) })],
    [
      'throws a problem',
      () => {
        throw new Problem('validation', undefined, { errors: [{ field: 'title', message: 'Title is odd' }] })
      },
    ],
  ])('errors have the index of the record if a hook %s', async (_what, act) => {
    const second = ({ values }: { readonly values: Partial<Book> }) => (values.title === 'y' ? act() : undefined)
    hooks.beforeCreate.mockImplementation(second)
    const created = await api.send('POST', '/api/watched/', [{ title: 'x' }, { title: 'y' }])
    hooks.beforeUpdate.mockImplementation(second)
    const changed = await api.send('PATCH', '/api/watched/', [
      { id: 1, title: 'x' },
      { id: 2, title: 'y' },
    ])
    for (const answer of [created, changed]) {
      const { errors } = (await answer.json()) as { readonly errors: object }
      expect([answer.status, Object.keys(errors)]).toEqual([400, ['1.title']])
    }
    expect(await titles()).toEqual(UNTOUCHED)
  })

  test('an error in a hook rolls everything back', async () => {
    hooks.afterCreate.mockImplementation(({ record }) => {
      if (record.title === 'y') throw new Error('broken')
    })
    expect((await api.send('POST', '/api/watched/', [{ title: 'x' }, { title: 'y' }])).status).toBe(500)
    expect(await titles()).toEqual(UNTOUCHED)
    expect(hooks.afterCommit).not.toHaveBeenCalled()
  })
})

describe('without a declaration', () => {
  test('an array is rejected', async () => {
    expect(await problemOf(await api.send('POST', '/api/plain/', [{ title: 'x' }]))).toEqual([
      400,
      'the body must be a JSON object',
      {},
    ])
  })

  test.each(['PATCH', 'DELETE'])('%s is not a method of the path', async (method) => {
    const answer = await api.send(method, '/api/plain/', [{ id: 1 }])
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS'])
  })
})

test('OPTIONS and the document describe it', async () => {
  const options = await api.fetch('/api/books/', { method: 'OPTIONS' })
  expect(options.headers.get('allow')).toBe('GET, HEAD, POST, PATCH, DELETE, OPTIONS')
  expect(options.headers.get('accept-patch')).toBe('application/json')
  expect(await options.json()).toMatchObject({ bulk: ['create', 'partial_update', 'destroy'], bulk_max: 120 })
  const { paths } = (await (await api.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>
  }
  const names = (path: string) => Object.values(paths[path] ?? {}).map(({ operationId }) => operationId)
  expect(names('/api/books/')).toEqual(['listBook', 'createBook', 'partialUpdateManyBook', 'destroyManyBook'])
  expect(names('/api/books/bulk/')).toEqual(['createManyBook'])
  expect(names('/api/plain/')).toEqual(['listPlain', 'createPlain'])
})

const RESOURCE = `${MODELS}resources:\n  book:\n    model: book\n    path: /books/\n`

test.each([
  ['`bulk_max` without `bulk`', '    bulk_max: 5\n', '16:5 SC319'],
  [
    'an operation that the resource does not have',
    '    operations: [list, create]\n    bulk: [create, destroy]\n',
    '17:20 SC320',
  ],
  ['`bulk` with required versions', '    concurrency: required\n    bulk: [create, destroy]\n', '17:20 SC304'],
  ['an operation without a bulk form', '    bulk: [list]\n', '16:12 SC204'],
  ['a `bulk_max` above 1000', '    bulk: [create]\n    bulk_max: 1001\n', '17:15 SC207'],
])('the file cannot declare %s', (_, keys, mistake) => {
  expect(mistakesOf(RESOURCE + keys)).toEqual([mistake])
})

test('a replaced operation cannot have a bulk form', async () => {
  const replacing: Plugin = (app) => app.replace('few', 'create', () => ({ status: 204 }))
  await expect(startApi(CONFIG, { plugin: replacing, database })).rejects.toThrow(/remove it from `bulk`/)
})
