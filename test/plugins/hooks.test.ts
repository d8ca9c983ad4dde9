import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  type Committed,
  type Context,
  type Hooks,
  type Id,
  type Plugin,
  Problem,
  type Resource,
} from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 20, unique: true }
      slug: { type: string, max: 20, read_only: true, nullable: true }
      pages: { type: bigint, nullable: true }
      price: { type: decimal, precision: 20, scale: 2, nullable: true }
      printed_at: { type: timestamp, nullable: true }
      notes: { type: json, nullable: true }
      shelf: { type: string, max: 5, private: true, nullable: true }
      changed_at: { type: timestamp, auto: on_update, nullable: true }
  entry:
    table: entries
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: string, max: 200 }
resources:
  book: { model: book, path: /books/, bulk: [create, partial_update] }
  entry: { model: entry, path: /entries/ }
mounts:
  - { path: /panel, dialect: json-server }
`

type Book = {
  readonly id: bigint
  readonly title: string
  readonly slug: string | null
  readonly pages: bigint | null
}

/** The hooks of the current test, and the names of the hooks that have run. */
let hooks: Hooks<Book>
let ran: string[]
let committed: Promise<Committed<Book>>
let books: Resource

const NAMES = ['beforeCreate', 'afterCreate', 'beforeUpdate', 'afterUpdate', 'beforeDestroy', 'afterDestroy'] as const

const plugin: Plugin = (app) => {
  const entries = app.resource('entry')
  books = app.resource('book')
  const note = async ({ store }: Context, text: string) => {
    ran.push(text)
    await store(entries).create({ text })
  }
  const each = NAMES.map((name) => [
    name,
    async (write: never) => {
      await note((write as { context: Context }).context, name)
      return hooks[name]?.(write)
    },
  ])
  app.hooks<Book>('book', {
    ...(Object.fromEntries(each) as Hooks<Book>),
    afterCommit: (write) => hooks.afterCommit?.(write),
  })
  app.hooks<Book>('book', { beforeCreate: ({ values }) => void ran.push(`then ${String(values.slug)}`) })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
})
afterAll(() => api.close())
beforeEach(async () => {
  await api.database.query({ text: 'truncate books, entries restart identity', values: [] })
  ran = []
  committed = new Promise((resolve) => {
    hooks = { afterCommit: resolve }
  })
})

const noted = async () => ((await (await api.fetch('/entries/')).json()) as { text: string }[]).map(({ text }) => text)
const titles = async () =>
  ((await (await api.fetch('/books/')).json()) as { title: string }[]).map(({ title }) => title)
const create = (body: object) => api.send('POST', '/books/', body)

describe('hooks of writes', () => {
  test('run around a create, in its transaction', async () => {
    hooks = {
      ...hooks,
      beforeCreate: ({ values }) => ({ slug: values.title?.toLowerCase() ?? null }),
      afterCreate: async ({ context, id, record }) => {
        await context.store(books).update(id, { pages: BigInt(record.title.length) + 2n ** 60n })
      },
    }
    const response = await create({ title: 'Dune' })
    expect([response.status, response.headers.get('location')]).toEqual([201, '/books/1/'])
    expect(await response.text()).toContain('"title":"Dune","slug":"dune","pages":1152921504606846980,')
    expect(ran).toEqual(['beforeCreate', 'then dune', 'afterCreate'])
    expect(await committed).toMatchObject({
      operation: 'create',
      id: 1n,
      record: { slug: 'dune' },
      previous: undefined,
    })
  })

  test.each([
    ['PUT', { title: 'Emma', pages: 5, price: null, printed_at: null, notes: null }],
    ['PATCH', { title: 'Emma' }],
  ])('run around a %s, in its transaction', async (method, body) => {
    await create({ title: 'Dune' })
    const seen: unknown[] = []
    committed = new Promise((resolve) => {
      hooks = {
        beforeUpdate: ({ id, record, values }) => {
          seen.push(id, record.title, values.title)
          return { slug: 'changed' }
        },
        afterUpdate: ({ record, previous }) => void seen.push(record.slug, previous.slug),
        afterCommit: resolve,
      }
    })
    ran = []
    const response = await api.send(method, '/books/1/', body)
    expect([response.status, await response.json()]).toMatchObject([200, { title: 'Emma', slug: 'changed' }])
    expect([ran, seen]).toEqual([
      ['beforeUpdate', 'afterUpdate'],
      [1n, 'Dune', 'Emma', 'changed', null],
    ])
    expect(await committed).toMatchObject({
      operation: 'update',
      record: { title: 'Emma', slug: 'changed' },
      previous: { title: 'Dune', slug: null },
    })
  })

  test.each([
    { method: 'POST', path: '/books/', body: { title: 'Emma' } },
    { method: 'POST', path: '/books/bulk/', body: [{ title: 'Emma' }] },
    {
      method: 'PUT',
      path: '/books/1/',
      body: { title: 'Emma', pages: 5, price: null, printed_at: null, notes: null },
    },
    { method: 'PATCH', path: '/books/1/', body: { title: 'Emma' } },
    { method: 'PATCH', path: '/books/', body: [{ id: 1, title: 'Emma' }] },
  ])('fail, and store nothing, if they destroy the record: $method $path', async ({ method, path, body }) => {
    await create({ title: 'Dune' })
    const destroy = async ({ context, id }: { context: Context; id: Id }) =>
      void (await context.store(books).destroy(id))
    hooks = { ...hooks, afterCreate: destroy, afterUpdate: destroy }
    expect((await api.send(method, path, body)).status).toBe(500)
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({
      cause: { message: 'a hook of `book` destroyed the written record' },
    })
    expect(await titles()).toEqual(['Dune'])
  })

  test.each<[string, object]>([
    ['price', { price: Number.NaN }],
    ['printed_at', { printed_at: new Date('rubbish') }],
    ['notes', { notes: { pages: [1, Number.POSITIVE_INFINITY] } }],
  ])('fail, and store nothing, if they set `%s` to a value that JSON does not have', async (name, values) => {
    hooks = { ...hooks, beforeCreate: () => values }
    expect((await create({ title: 'Dune', price: '1.00' })).status).toBe(500)
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({
      cause: expect.objectContaining({ message: expect.stringContaining(`as \`${name}\`: JSON has no such value`) }),
    })
    expect(await titles()).toEqual([])
  })

  test('run around a destroy, in its transaction', async () => {
    await create({ title: 'Dune' })
    committed = new Promise((resolve) => {
      hooks = { afterCommit: resolve }
    })
    ran = []
    expect((await api.fetch('/books/1/', { method: 'DELETE' })).status).toBe(204)
    expect(ran).toEqual(['beforeDestroy', 'afterDestroy'])
    expect(await committed).toMatchObject({ operation: 'destroy', id: 1n, record: { title: 'Dune' } })
    expect(await titles()).toEqual([])
  })

  test.each([
    ['PATCH', { title: 'Emma' }],
    ['DELETE', undefined],
  ])('do not run for a %s of a missing record', async (method, body) => {
    expect((await api.send(method, '/books/7/', body)).status).toBe(404)
    expect([ran, await noted()]).toEqual([[], []])
  })

  test.each([
    ['PATCH', { title: 'Emma' }],
    ['DELETE', undefined],
  ])('do not run for a %s with a failed precondition', async (method, body) => {
    const tag = (await create({ title: 'Dune' })).headers.get('etag') ?? ''
    ran = []
    const sent = (version: string) =>
      api.fetch('/books/1/', {
        method,
        headers: { 'if-match': version, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
    expect([(await sent(`"${'A'.repeat(43)}"`)).status, ran, await titles()]).toEqual([412, [], ['Dune']])
    expect((await sent(tag)).ok).toBe(true)
    expect(ran).toHaveLength(2)
  })

  test.each([
    ['POST', '/panel/books/', { title: 'Emma' }, ['beforeCreate', 'then undefined', 'afterCreate']],
    ['PATCH', '/panel/books/1/', { title: 'Emma' }, ['beforeUpdate', 'afterUpdate']],
    ['DELETE', '/panel/books/1/', undefined, ['beforeDestroy', 'afterDestroy']],
  ])('run around a %s at a mount', async (method, path, body, names) => {
    await create({ title: 'Dune' })
    ran = []
    expect((await api.send(method, path, body)).ok).toBe(true)
    expect(ran).toEqual(names)
  })

  test('do not run for a rejected body', async () => {
    expect((await create({ title: '' })).status).toBe(400)
    expect(ran).toEqual([])
  })
})

describe("an error in a hook rolls back the write and the hooks' own writes", () => {
  const rejection = new Problem('validation', 'No', { errors: [{ field: 'title', message: 'Title is too loud' }] })
  const throwing = (error: unknown) => () => {
    throw error
  }

  test.each([
    ['beforeCreate', 'POST', '/books/'],
    ['afterCreate', 'POST', '/books/'],
    ['beforeUpdate', 'PATCH', '/books/1/'],
    ['afterUpdate', 'PATCH', '/books/1/'],
    ['beforeDestroy', 'DELETE', '/books/1/'],
    ['afterDestroy', 'DELETE', '/books/1/'],
  ] as const)('%s', async (name, method, path) => {
    await create({ title: 'Dune' })
    const before = await noted()
    const body = method === 'DELETE' ? undefined : { title: 'LOUD' }

    hooks = { [name]: throwing(rejection) }
    const rejected = await api.send(method, path, body)
    expect([rejected.status, await rejected.json()]).toMatchObject([400, { errors: { title: 'Title is too loud' } }])

    hooks = { [name]: throwing(new Error('with a secret')) }
    const failed = await api.send(method, path, body)
    expect(failed.status).toBe(500)
    expect(await failed.text()).not.toContain('secret')
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({ type: 'internal' })

    expect([await titles(), await noted()]).toEqual([['Dune'], before])
  })
})

describe('values changed by a hook are validated', () => {
  test.each([
    [{ title: '' }, { title: 'Title must be between 1 and 20 characters' }],
    [{ title: 7 }, { title: 'Title must be a string' }],
    [
      { slug: 'x'.repeat(21), pages: 2n ** 63n },
      { slug: expect.any(String), pages: expect.any(String) },
    ],
    [{ price: '1.234' }, { price: expect.any(String) }],
    [{ printed_at: 'yesterday' }, { printed_at: expect.any(String) }],
  ])('%p is rejected with 400', async (change, errors) => {
    hooks = { beforeCreate: () => change as never }
    const response = await create({ title: 'Dune' })
    expect([response.status, await response.json()]).toMatchObject([400, { errors }])
    expect([await titles(), await noted()]).toEqual([[], []])
  })

  test.each([
    [{ titel: 'x' }, 'the model `book` has no field `titel` to set; a field with a similar name exists: `title`'],
    [{ id: 5n }, 'the model `book` sets `id` itself, so code cannot: it is the primary key'],
    [
      { changed_at: '2020-01-01T00:00:00Z' },
      'the model `book` sets `changed_at` itself, so code cannot: it has `auto: on_update`',
    ],
    [{ shelf: 'too long' }, 'the model `book`: Shelf must'],
    ['text', "a hook of `book` returned 'text'; it must return the values to change, or nothing"],
  ])('%p gives 500, and only the log names the error', async (change, message) => {
    hooks = { beforeCreate: () => change as never }
    const response = await create({ title: 'Dune' })
    expect([response.status, await response.json()]).toEqual([
      500,
      expect.not.objectContaining({ errors: expect.anything() }),
    ])
    const { cause } = api.logged.findLast(({ event }) => event === 'failure') as unknown as { cause: Error }
    expect(cause.message).toContain(message)
  })

  test('values of every kind arrive exactly', async () => {
    const values = {
      pages: 2n ** 63n - 1n,
      price: '123456789012345678.90',
      printed_at: new Date(0),
      notes: { deep: [1] },
      shelf: 'A1',
      slug: undefined,
    }
    hooks = { beforeCreate: () => values as never }
    const text = await (await create({ title: 'Dune' })).text()
    expect(text).toContain('"pages":9223372036854775807,"price":"123456789012345678.90"')
    expect(JSON.parse(text)).toMatchObject({
      slug: null,
      printed_at: '1970-01-01T00:00:00.000000Z',
      notes: { deep: [1] },
    })
    const kept = await api.database.query({ text: 'select shelf from books', values: [] })
    expect(kept.rows).toEqual([['A1']])
  })

  test('an object in a PATCH is merged, whatever else hooks change', async () => {
    await create({ title: 'Dune', notes: { a: 1 } })
    hooks = { beforeUpdate: ({ values }) => ({ ...values, slug: 'x' }) }
    const response = await api.send('PATCH', '/books/1/', { notes: { b: 2 } })
    expect(await response.json()).toMatchObject({ slug: 'x', notes: { a: 1, b: 2 } })
  })
})

test('an after-commit error undoes nothing, is logged, and does not affect other tasks', async () => {
  hooks = {
    afterCommit: async () => {
      throw new Error('no mail today')
    },
  }
  expect((await create({ title: 'Dune' })).status).toBe(201)
  const later = new Promise<Committed<Book>>((resolve) => {
    hooks = { afterCommit: resolve }
  })
  await create({ title: 'Emma' })
  await later
  expect(await titles()).toEqual(['Dune', 'Emma'])
  const failures = api.logged.filter((entry) => 'type' in entry && entry.type === 'after_commit')
  expect(failures).toMatchObject([{ route: 'book-list', cause: { message: 'no mail today' } }])
})

test('tasks after the commit of a request that is rolled back do not run', async () => {
  await create({ title: 'Dune' })
  ran = []
  hooks = { afterCommit: () => void ran.push('committed') }
  expect((await create({ title: 'Dune' })).status).toBe(409)
  const other = new Promise<void>((resolve) => {
    hooks = { afterCommit: () => resolve() }
  })
  await create({ title: 'Emma' })
  await other
  expect(ran).not.toContain('committed')
})

test('a drain waits for after-commit tasks', async () => {
  let finished = false
  let go = () => {}
  const started = new Promise<void>((begun) => {
    hooks = {
      afterCommit: async ({ context, id }) => {
        begun()
        await new Promise<void>((resolve) => {
          go = resolve
        })
        finished = (await context.store(books).retrieve(id)) !== undefined
      },
    }
  })
  const before = books
  const other = await startApi(YAML, { plugin })
  await other.send('POST', '/books/', { title: 'Dune' })
  await started
  const closed = other.close()
  go()
  await closed
  expect(finished).toBe(true)
  books = before
})
