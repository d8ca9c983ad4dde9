import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Hooks, type Plugin, Problem } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, testDatabaseKind } from '../support/database.js'
import { waitUntil } from '../support/wait-until.js'

const MODELS = `
version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100, unique: true }
      pages: { type: integer, default: 1 }
`
const CONFIG = `${MODELS}
plugins: [./plugin.mjs]
resources:
  book: { model: book, path: /books/, idempotency: optional, bulk: [create] }
  strict: { model: book, path: /strict/, idempotency: required, idempotency_hours: 1 }
  plain: { model: book, path: /plain/ }
  replaced: { model: book, path: /replaced/, idempotency: optional }
mounts:
  - { path: /admin-api }
`

const KEY = { 'idempotency-key': 'b7c1-4711' }
const REPLAYED = 'idempotency-replayed'

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post: {
          readonly parameters?: readonly { readonly name: string; readonly required?: boolean }[]
          readonly responses: object
        }
      }
    >
  >
}
interface Book {
  readonly title: string
}
const afterCreate = jest.fn<NonNullable<Hooks<Book>['afterCreate']>>()
const afterCommit = jest.fn<NonNullable<Hooks<Book>['afterCommit']>>()

let isOpen = true
let isCaught = false
let isConcurrent = false
let isTwice = false
let whenCaught = async () => {}
let stored: ReturnType<Parameters<Plugin>[0]['resource']>
const plugin: Plugin = (app) => {
  const books = app.resource('book')
  stored = books
  app.replace('replaced', 'create', async ({ context, generated }) => {
    if (isTwice) {
      const both = await Promise.allSettled([generated(), generated({ values: { title: 'Taken' } })])
      return { status: 200, body: both.map(({ status }) => status) }
    }
    if (!isCaught) return isOpen ? generated() : { status: 400, body: { error: 'closed' } }
    const answered = generated().catch(({ message }: Error) => ({ status: 200, body: { failed: message } }))
    if (isConcurrent) await context.store(books).create({ title: 'Another' })
    const { status, body } = await answered
    await whenCaught()
    const { total } = await context.store(books).list(books.parseList('').plan)
    return { status, body: { ...(body as object), books: total?.rows } }
  })
  app.hooks<Book>('replaced', { afterCreate, afterCommit })
  app.hooks<Book>('book', { afterCreate, afterCommit })
  app.action<{ by: number }>('book', 'grow', {
    summary: 'Add pages',
    input: { by: { type: 'integer' } },
    output: 'record',
    handle: async ({ context, id, record, input }) => {
      await context.store(app.resource('book')).update(id, { pages: Number(record['pages']) + input.by })
    },
  })
  app.action('book', 'touch', { summary: 'Do nothing', handle: () => undefined })
}

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG, { plugin, checkResponses: true })
})
afterAll(() => api.close())
beforeEach(async () => {
  jest.resetAllMocks()
  await api.database.query({ text: 'truncate books, snippetctl_answers restart identity', values: [] })
})

const post = (body: unknown, headers: Record<string, string> = KEY, path = '/api/books/') =>
  api.send('POST', path, body, headers)
const count = async (table: string) =>
  Number((await api.database.query({ text: `select count(*)::text from ${table}`, values: [] })).rows[0]?.[0])
const counts = async () => [await count('books'), await count('snippetctl_answers')]
const problemOf = async (answer: Response) => {
  const { type, detail } = (await answer.json()) as { type: string; detail: string }
  return [answer.status, type.replace('/problems/', ''), detail] as const
}

describe('a create that is repeated with its key', () => {
  test('gets the stored response, and creates nothing', async () => {
    const first = await post({ title: 'One' })
    const second = await post({ title: 'One' })
    expect([first.status, second.status]).toEqual([201, 201])
    expect([first.headers.get(REPLAYED), second.headers.get(REPLAYED)]).toEqual([null, 'true'])
    for (const name of ['location', 'etag', 'content-type']) {
      expect(second.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(await second.text()).toBe(await first.text())
    expect(await counts()).toEqual([1, 1])
    expect(afterCreate).toHaveBeenCalledTimes(1)
    expect(afterCommit).toHaveBeenCalledTimes(1)
  })

  test('gets the stored response although the record has changed or is gone', async () => {
    const first = await (await post({ title: 'One' })).text()
    await api.send('PATCH', '/api/books/1/', { pages: 9 })
    expect(await (await post({ title: 'One' })).text()).toBe(first)
    await api.fetch('/api/books/1/', { method: 'DELETE' })
    expect(await (await post({ title: 'One' })).text()).toBe(first)
  })

  test('accepts the key in double quotes', async () => {
    await post({ title: 'One' })
    expect((await post({ title: 'One' }, { 'idempotency-key': '"b7c1-4711"' })).headers.get(REPLAYED)).toBe('true')
  })

  test.each([
    ['another body', '/api/books/', { title: 'Two' }],
    ['another path', '/api/strict/', { title: 'One' }],
    ['a mount', '/admin-api/books/', { title: 'One' }],
    ['an action', '/api/books/1/touch/', {}],
  ])('is 422 for %s, and does nothing', async (_, path, body) => {
    await post({ title: 'One' })
    expect(await problemOf(await post(body, KEY, path))).toEqual([
      422,
      'idempotency-key-reused',
      'this Idempotency-Key was sent before with another request; a new request needs a new key',
    ])
    expect(await counts()).toEqual([1, 1])
  })

  test('creates one row and one response, however many requests are concurrent', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post({ title: 'One' })))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get(REPLAYED) === null)).toHaveLength(1)
    expect(await counts()).toEqual([1, 1])
  })
})

describe('a key', () => {
  test.each([
    ['no characters', ''],
    ['a space inside', 'a b'],
    ['a comma', 'a, b'],
    ['an unclosed quote', '"a'],
    ['characters beyond ASCII', 'ü'],
    ['256 characters', 'x'.repeat(256)],
  ])('is rejected by name if it has %s', async (_, key) => {
    const [status, type, detail] = await problemOf(await post({ title: 'One' }, { 'idempotency-key': key }))
    expect([status, type]).toEqual([400, 'malformed-request'])
    expect(detail).toMatch(/^Idempotency-Key must be one key of 1 to 255 visible ASCII characters/)
    expect(await counts()).toEqual([0, 0])
  })

  test('may have 255 characters', async () => {
    expect((await post({ title: 'One' }, { 'idempotency-key': '~'.repeat(255) })).status).toBe(201)
  })

  test('is required if the resource says so, and nowhere else', async () => {
    const [status, type, detail] = await problemOf(await post({ title: 'One' }, {}, '/api/strict/'))
    expect([status, type]).toEqual([400, 'malformed-request'])
    expect(detail).toMatch(/^this request requires the header Idempotency-Key/)
    expect((await post({ title: 'One' }, {})).status).toBe(201)
    expect(await counts()).toEqual([1, 0])
  })

  test('is ignored unless declared', async () => {
    expect((await post({ title: 'One' }, KEY, '/api/plain/')).status).toBe(201)
    expect((await post({ title: 'One' }, KEY, '/api/plain/')).status).toBe(409)
    expect(await counts()).toEqual([1, 0])
  })
})

test.each([
  ['of one record', { title: 1 }, 'title'],
  ['of several records', [{ title: 'Two' }, { title: 1 }], '1.title'],
])('an invalid body %s is reported before a reused key', async (_, body, field) => {
  expect((await post({ title: 'One' })).status).toBe(201)
  const answer = await post(body)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toHaveProperty(['errors', field])
})

describe('nothing is stored for a request', () => {
  test.each([
    ['whose body is invalid', { title: 1 }, 400],
    ['that conflicts with another record', { title: 'Taken' }, 409],
  ])('%s', async (_, body, status) => {
    await post({ title: 'Taken' }, {})
    expect((await post(body)).status).toBe(status)
    expect(await counts()).toEqual([1, 0])
    expect((await post({ title: 'One' })).headers.get(REPLAYED)).toBeNull()
  })

  test('that a plugin answers with an error', async () => {
    isOpen = false
    expect((await post({ title: 'One' }, KEY, '/api/replaced/')).status).toBe(400)
    isOpen = true
    const corrected = await post({ title: 'Two' }, KEY, '/api/replaced/')
    expect([corrected.status, corrected.headers.get(REPLAYED)]).toEqual([201, null])
    expect(await counts()).toEqual([1, 1])
  })

  test('rolls back when an after-hook throws', async () => {
    afterCreate.mockRejectedValueOnce(new Error('broken'))
    expect((await post({ title: 'One' })).status).toBe(500)
    expect(await counts()).toEqual([0, 0])
    expect((await post({ title: 'One' })).status).toBe(201)
    expect(await counts()).toEqual([1, 1])
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
  onServer('whose connection is terminated before its commit', async () => {
    const kill =
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    afterCreate.mockImplementationOnce(async () => void (await api.database.query({ text: kill, values: [] })))
    expect((await post({ title: 'One' })).status).toBe(503)
    expect(await counts()).toEqual([0, 0])
    expect((await post({ title: 'One' })).headers.get(REPLAYED)).toBeNull()
    expect(await counts()).toEqual([1, 1])
  })

  onServer('that waits too long for another one with its key, and gets Retry-After', async () => {
    let done = () => {}
    const held = new Promise<void>((resolve) => (done = resolve))
    let first: Promise<Response> | undefined
    await new Promise<void>((reached) => {
      afterCreate.mockImplementationOnce(() => {
        reached()
        return held
      })
      first = post({ title: 'One' })
    })
    const second = await post({ title: 'One' })
    done()
    expect(second.headers.get('retry-after')).toBe('1')
    expect((await problemOf(second)).slice(0, 2)).toEqual([409, 'request-in-progress'])
    expect((await first)?.status).toBe(201)
    expect((await post({ title: 'One' })).headers.get(REPLAYED)).toBe('true')
  })
})

describe('the lifetime of a key', () => {
  const expire = () =>
    api.database.query({ text: `update snippetctl_answers set expires_at = now() - interval '1 second'`, values: [] })

  test.each([
    ['/api/books/', 24],
    ['/api/strict/', 1],
  ])('is the number of hours that the resource sets: %s', async (path, hours) => {
    await post({ title: 'One' }, KEY, path)
    const text = 'select round(extract(epoch from expires_at - now()) / 3600)::text from snippetctl_answers'
    expect((await api.database.query({ text, values: [] })).rows).toEqual([[String(hours)]])
  })

  test('ends, after which the key can be used again', async () => {
    await post({ title: 'One' })
    await expire()
    const again = await post({ title: 'Two' })
    expect([again.status, again.headers.get(REPLAYED)]).toEqual([201, null])
    expect(await counts()).toEqual([2, 1])
  })

  test('ends with the deletion of responses, a few whenever another is stored', async () => {
    const many = `insert into snippetctl_answers (key, request, expires_at) select n::text, '', now() from generate_series(1, 15) n`
    await api.database.query({ text: many, values: [] })
    await expire()
    await post({ title: 'One' })
    expect(await counts()).toEqual([1, 6])
    await post({ title: 'Two' }, { 'idempotency-key': 'other' })
    expect(await counts()).toEqual([2, 2])
  })
})

describe('an action', () => {
  test('runs once for its key, and repeats its response', async () => {
    await post({ title: 'One' }, {})
    const grow = () => post({ by: 5 }, KEY, '/api/books/1/grow/')
    expect(await (await grow()).json()).toEqual({ id: 1, title: 'One', pages: 6 })
    const again = await grow()
    expect(again.headers.get(REPLAYED)).toBe('true')
    expect(await again.json()).toEqual({ id: 1, title: 'One', pages: 6 })
    expect((await post({ by: 5 }, KEY, '/api/books/2/grow/')).status).toBe(422)
  })

  test('without a response body repeats its empty response', async () => {
    await post({ title: 'One' }, {})
    const touch = () => api.fetch('/api/books/1/touch/', { method: 'POST', headers: KEY })
    expect([(await touch()).status, (await touch()).status]).toEqual([204, 204])
    expect((await touch()).headers.get(REPLAYED)).toBe('true')
  })
})

test('a repeated request gets the stored response although a reload has made the rules of its body stricter', async () => {
  const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
  const reloaded = await startApi(CONFIG, { database, plugin, checkResponses: false })
  const create = (title: string, headers: Readonly<Record<string, string>>) =>
    reloaded.send('POST', '/api/books/', { title }, headers)
  const first = await create('Middlemarch', KEY)
  await reloaded.replace(CONFIG.replace('max: 100', 'max: 5'))
  const again = await create('Middlemarch', KEY)
  expect([again.status, again.headers.get(REPLAYED), await again.text()]).toEqual([201, 'true', await first.text()])
  expect((await create('Middlemarch', {})).status).toBe(400)
  expect((await create('Northanger', { 'idempotency-key': 'other' })).status).toBe(400)
  expect((await create('Emma', { 'idempotency-key': 'other' })).status).toBe(201)
  await reloaded.close()
  await database.close()
})

test.each([{ rule: 'private: true' }, { rule: 'write_only: true' }])(
  'a stored response with a field that is hidden since is not sent again: $rule',
  async ({ rule }) => {
    const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
    const reloaded = await startApi(CONFIG, { database, plugin, checkResponses: false })
    const create = (headers = KEY) => reloaded.send('POST', '/api/books/', { title: 'Emma', pages: 4711 }, headers)
    expect((await create()).status).toBe(201)
    await reloaded.replace(CONFIG.replace('pages: {', `pages: { ${rule},`))
    const again = await create()
    const text = await again.text()
    expect([again.status, text.includes('4711')]).toEqual([409, false])
    expect(text).toContain('has been executed, and its response may have a field that is hidden or removed now')
    await reloaded.close()
    await database.close()
  },
)

test('a stored response with a field that is removed since is not sent again', async () => {
  const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
  const reloaded = await startApi(CONFIG, { database, plugin: () => {}, checkResponses: false })
  const create = () => reloaded.send('POST', '/api/books/', { title: 'Emma' }, KEY)
  expect((await create()).status).toBe(201)
  await reloaded.replace(CONFIG.replace('      pages: { type: integer, default: 1 }\n', ''))
  expect(await problemOf(await create())).toEqual([
    409,
    'conflict',
    'the request with this Idempotency-Key has been executed, and its response may have a field that is hidden or removed now',
  ])
  await reloaded.close()
  await database.close()
})

test('a stored response of an action without records is sent again although a field is hidden since', async () => {
  const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
  const reloaded = await startApi(CONFIG, { database, plugin, checkResponses: false })
  await reloaded.send('POST', '/api/books/', { title: 'Emma' })
  const touch = () => reloaded.send('POST', '/api/books/1/touch/', undefined, KEY)
  expect((await touch()).status).toBe(204)
  await reloaded.replace(CONFIG.replace('pages: {', 'pages: { private: true,'))
  const again = await touch()
  expect([again.status, again.headers.get(REPLAYED)]).toEqual([204, 'true'])
  await reloaded.close()
  await database.close()
})

test.each([
  ['a field is hidden since', 'pages: { private: true,', [409, null]],
  ['no field is hidden', 'pages: {', [200, 'true']],
])('a stored record of an action that no longer returns records: %s', async (_, pages, expected) => {
  const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
  let output: 'record' | { readonly done: { readonly type: 'boolean' } } = 'record'
  const changing: Plugin = (app) => {
    app.action('book', 'finish', { summary: 'Finish', output, handle: () => undefined })
  }
  const reloaded = await startApi(CONFIG, { database, plugin: changing, checkResponses: false })
  await reloaded.send('POST', '/api/books/', { title: 'Emma', pages: 4711 })
  const finish = () => reloaded.send('POST', '/api/books/1/finish/', undefined, KEY)
  expect(await (await finish()).json()).toMatchObject({ pages: 4711 })
  output = { done: { type: 'boolean' } }
  await reloaded.replace(CONFIG.replace('pages: {', pages))
  const again = await finish()
  expect([again.status, again.headers.get(REPLAYED)]).toEqual(expected)
  await reloaded.close()
  await database.close()
})

test.each([
  ['an action with that output', '/api/books/1/count/', '{"pages":4711}'],
  ['a member of a JSON field with that name', '/api/books/', '"pages": 4711}'],
  ['a replacement that is not JSON', '/api/replaced/', 'not JSON'],
])('a stored response that has only the name of a hidden field is sent again: %s', async (_, path, part) => {
  const hidden = CONFIG.replace(
    'pages: { type: integer',
    'notes: { type: json, nullable: true }\n      pages: { private: true, type: integer',
  )
  const database = await openTestDatabase(ddlOf(specOf(hidden)))
  const counting: Plugin = (app) => {
    app.action('book', 'count', {
      summary: 'Count the pages',
      output: { pages: { type: 'integer' } },
      handle: () => ({ pages: 4711 }),
    })
    app.replace('replaced', 'create', () => ({ status: 201, text: 'not JSON' }))
  }
  const other = await startApi(hidden, { database, plugin: counting, checkResponses: false })
  await other.send('POST', '/api/books/', { title: 'Persuasion' })
  const body = path.endsWith('count/') ? undefined : { title: 'Emma', notes: { pages: 4711 } }
  const [first, again] = [await other.send('POST', path, body, KEY), await other.send('POST', path, body, KEY)]
  const text = await first.text()
  expect(text).toContain(part)
  expect([again.status, again.headers.get(REPLAYED), await again.text()]).toEqual([first.status, 'true', text])
  await other.close()
  await database.close()
})

test('a stored response is sent again if its resource has had hidden fields from the start', async () => {
  const hidden = CONFIG.replace('pages: {', 'pages: { write_only: true,')
  const database = await openTestDatabase(ddlOf(specOf(hidden)))
  const other = await startApi(hidden, { database, plugin })
  const create = (headers = KEY) => other.send('POST', '/api/books/', { title: 'Emma', pages: 4711 }, headers)
  const first = await create()
  const again = await create()
  expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true'])
  expect(await again.text()).toBe(await first.text())
  await other.close()
  await database.close()
})

describe('a request that a reload has made invalid', () => {
  const STRICT = CONFIG.replace('max: 100', 'max: 5')

  test('is 503 if the stored responses cannot be read', async () => {
    const database = await openTestDatabase(ddlOf(specOf(CONFIG)))
    const broken = await startApi(STRICT, { plugin, database })
    await database.query({ text: 'drop table snippetctl_answers', values: [] })
    const create = (headers: Readonly<Record<string, string>>) =>
      broken.send('POST', '/api/books/', { title: 'Middlemarch' }, headers)
    expect([(await create(KEY)).status, (await create({})).status]).toEqual([503, 400])
    await broken.close()
    await database.close()
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
  onServer('is 409 while the first request with its key is in progress', async () => {
    const strict = await startApi(STRICT, { plugin, database: api.database, checkResponses: false })
    let done = () => {}
    const held = new Promise<void>((resolve) => (done = resolve))
    let first: Promise<Response> | undefined
    await new Promise<void>((reached) => {
      afterCreate.mockImplementationOnce(() => {
        reached()
        return held
      })
      first = post({ title: 'Middlemarch' })
    })
    const create = (title: string) => strict.send('POST', '/api/books/', { title }, KEY)
    const second = await create('Middlemarch')
    done()
    expect((await problemOf(second)).slice(0, 2)).toEqual([409, 'request-in-progress'])
    expect((await first)?.status).toBe(201)
    expect((await create('Middlemarch')).headers.get(REPLAYED)).toBe('true')
    expect((await create('Northanger')).status).toBe(400)
    await strict.close()
  })
})

describe('a replacement that catches an error of the generated operation', () => {
  beforeEach(() => {
    isCaught = true
  })
  afterEach(() => {
    isCaught = false
  })

  test.each([
    { name: 'without a key', headers: {} },
    { name: 'with a key', headers: KEY },
  ])('goes on $name, and nothing is left of the operation', async ({ headers }) => {
    await post({ title: 'Taken' }, {})
    afterCommit.mockClear()
    const response = await post({ title: 'Taken' }, headers, '/api/replaced/')
    expect([response.status, await response.json()]).toEqual([
      200,
      { failed: 'Title is taken by another record', books: 1 },
    ])
    // The hook runs after the record is stored.
    afterCreate.mockImplementationOnce(({ context }) => {
      context.afterCommit(() => afterCommit(undefined as never))
      throw new Problem('validation', 'unwanted')
    })
    const second = await post(
      { title: 'New' },
      { ...headers, ...(headers === KEY && { 'idempotency-key': 'new' }) },
      '/api/replaced/',
    )
    expect([second.status, await second.json()]).toEqual([200, { failed: 'unwanted', books: 1 }])
    expect([await count('books'), afterCommit.mock.calls.length]).toEqual([1, 0])
  })

  test('waits for it with its own changes, which stay', async () => {
    await post({ title: 'Taken' }, {})
    isConcurrent = true
    const response = await post({ title: 'Taken' }, KEY, '/api/replaced/')
    isConcurrent = false
    expect([response.status, await response.json()]).toEqual([
      200,
      { failed: 'Title is taken by another record', books: 2 },
    ])
    expect(await count('books')).toBe(2)
  })
})

test('two generated operations of one request are undone, and run their after-commit tasks, each by itself', async () => {
  await post({ title: 'Taken' }, {})
  afterCommit.mockClear()
  isTwice = true
  const response = await post({ title: 'New' }, KEY, '/api/replaced/')
  isTwice = false
  expect(await response.json()).toEqual(['fulfilled', 'rejected'])
  await waitUntil(() => afterCommit.mock.calls.length > 0)
  expect([await count('books'), afterCommit.mock.calls.length]).toEqual([2, 1])
})

test('a statement and a task that a failed operation adds after its end are rejected', async () => {
  let sent: Promise<unknown> = Promise.resolve()
  let added: Promise<unknown> = Promise.resolve()
  let goOn = () => {}
  const ended = new Promise<void>((resolve) => (goOn = resolve))
  afterCreate.mockImplementationOnce(({ context }) => {
    sent = ended
      .then(async () => context.store(stored).create({ title: 'Late' }))
      .catch(({ message }: Error) => message)
    added = ended.then(() => context.afterCommit(() => {})).catch(({ message }: Error) => message)
    throw new Problem('validation', 'unwanted')
  })
  whenCaught = async () => {
    goOn()
    await Promise.all([sent, added])
  }
  isCaught = true
  const response = await post({ title: 'New' }, KEY, '/api/replaced/')
  isCaught = false
  whenCaught = async () => {}
  expect([response.status, await sent, await added, await count('books')]).toEqual([
    200,
    'a statement was sent after the generated operation that it belongs to had ended',
    'afterCommit was called after the transaction, or the generated operation, had ended',
    0,
  ])
})

test('two services on one database share the keys', async () => {
  const other = await startApi(CONFIG, { plugin, database: api.database })
  await post({ title: 'One' })
  const again = await other.send('POST', '/api/books/', { title: 'One' }, KEY)
  await other.close()
  expect(again.headers.get(REPLAYED)).toBe('true')
  expect(await counts()).toEqual([1, 1])
})

test('the document and OPTIONS describe the keys', async () => {
  const document = (await (await api.fetch('/openapi.json')).json()) as Document
  const described = (path: string) => {
    const { parameters = [], responses } = document.paths[path]?.post ?? { responses: {} }
    const header = parameters.find(({ name }) => name === 'Idempotency-Key')
    return header ? [header.required ?? false, '422' in responses] : ['none', '422' in responses]
  }
  expect(['/api/books/', '/api/strict/', '/api/books/{id}/grow/', '/api/plain/'].map(described)).toEqual([
    [false, true],
    [true, true],
    [false, true],
    ['none', false],
  ])
  expect(await (await api.fetch('/api/strict/', { method: 'OPTIONS' })).json()).toMatchObject({
    idempotency: 'required',
  })
})

describe('the table of responses', () => {
  const kept = (resources: string) => specOf(`${MODELS}resources:\n${resources}`).models.map(({ table }) => table)

  test('exists if a resource needs it', () => {
    expect(kept('  book: { model: book, path: /books/, idempotency: optional }\n')).toEqual([
      'books',
      'snippetctl_answers',
    ])
    expect(kept('  book: { model: book, path: /books/, idempotency: none }\n')).toEqual(['books'])
  })

  test.each([
    ['a name', '  snippetctl_answers: { fields: { id: { type: bigint, primary_key: true } } }\n', '10:3 SC308'],
    [
      'a table',
      '  a: { table: snippetctl_answers, fields: { id: { type: bigint, primary_key: true } } }\n',
      '10:15 SC308',
    ],
  ])('cannot be declared in the file by %s', (_, model, mistake) => {
    expect(mistakesOf(MODELS + model)).toEqual([mistake])
  })

  test('affects only requests with keys if it was altered', async () => {
    const spec = specOf(CONFIG)
    const database = await openTestDatabase(ddlOf(spec))
    const broken = await startApi(CONFIG, { plugin, database })
    await database.query({ text: 'drop table snippetctl_answers', values: [] })
    expect((await broken.send('POST', '/api/books/', { title: 'One' }, KEY)).status).toBe(503)
    expect((await broken.send('POST', '/api/books/', { title: 'One' })).status).toBe(201)
    await broken.close()
    await database.close()
  })
})
