import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project } from '../support/cli.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./shop.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 10 }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
      pages: { type: integer, default: 1 }
  shelf:
    table: shelves
    fields:
      code: { type: string, max: 10, primary_key: true }
resources:
  book: { model: book, path: /books/ }
  shelf: { model: shelf, path: /shelves/ }
`

/** In JavaScript, so no compiler has checked it. */
const PLUGIN = `
import { Problem } from 'snippetctl'

class Sold extends Problem {
  type = 'sold'
  constructor() { super('conflict', 'sold') }
}
class Lent extends Problem {
  constructor() { super('conflict', 'lent') }
}
const WRONG = { number: { title: 5 }, fraction: { title: 'a', price: 9.99 }, symbol: { title: Symbol('a') }, list: { title: ['a'] } }
const LIMITS = [NaN, 'a', {}]
const ISOLATIONS = ['repeatable read', 'SERIALIZABLE', '', null]

export default (app) => {
  const books = app.resource('book')
  const shelves = app.resource('shelf')
  const route = (name, handle) =>
    app.route('GET', \`/\${name}/\`, name, async (context) => ({ status: 200, body: await handle(context, context.store(books)) }))

  for (const [name, values] of Object.entries(WRONG)) {
    route('create-' + name, (_context, store) => store.create(values))
    route('create-many-' + name, (_context, store) => store.createMany([values]))
    route('update-' + name, (_context, store) => store.update(1n, values))
    route('inside-' + name, (context) => context.transaction(({ store }) => store(books).create(values)))
  }
  route('retrieve', (context) => context.store(shelves).retrieve(5))
  route('destroy', (context) => context.store(shelves).destroy(5))
  LIMITS.forEach((limit, place) => route('list-' + place, (_context, store) => store.list({ ...books.parseList('').plan, limit })))
  ISOLATIONS.forEach((isolation, place) =>
    route('isolation-' + place, (context) =>
      context.transaction(async ({ store }) => {
        await store(books).create({ title: 'a' })
        throw new Problem('not_found')
      }, { isolation })))
  route('sold', async () => {
    await Promise.resolve()
    throw new Sold()
  })
  route('kinds', () => [new Problem('not_found'), new Lent()].map((problem) => [problem instanceof Lent, problem instanceof Problem]))
  app.route('GET', '/stream-number/', 'stream-number', () => ({ status: 200, stream: pieces('[', 5, ']') }))
  app.route('GET', '/stream-mixed/', 'stream-mixed', () => ({ status: 200, stream: pieces('[1', Buffer.from(',2'), ',3', ']') }))
  app.route('GET', '/stream-object/', 'stream-object', () => ({ status: 200, stream: pieces({ a: 1 }) }))
  route('update-undefined', async (_context, store) => {
    const { id } = await store.create({ title: 'a', price: '1.50', pages: 7 })
    return store.update(id, { title: 'b', price: undefined, pages: undefined })
  })
  route('create-undefined', async (_context, store) => (await store.create({ title: 'a', pages: undefined })).item)
  route('create-many-undefined', async (_context, store) =>
    (await store.createMany([{ title: 'a', pages: undefined }, { title: 'b', pages: 2 }])).map(({ item }) => item))
  route('update-whole', async (_context, store) => {
    const { id, item } = await store.create({ title: 'a' })
    return store.update(id, { ...item, title: 'b' })
  })
  route('update-key', (_context, store) => store.update(1n, { id: 2n }))
}

async function* pieces(...all) {
  yield* all
}
`

let project: Project
let api: Api
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML, 'shop.mjs': PLUGIN })
  api = await startApi(join(project.folder, 'resources.yaml'))
})
afterAll(async () => {
  await api.close()
  await project.remove()
})
beforeEach(async () => {
  await api.database.query({ text: 'truncate books restart identity', values: [] })
  await api.send('POST', '/books/', { title: 'first' })
})

const ask = async (name: string) => {
  const answer = await api.fetch(`/${name}/`)
  return [answer.status, await answer.json()] as const
}
const list = async () => (await ask('books'))[1] as readonly object[]
const causeOf = () => api.logged.findLast(({ event }) => event === 'failure')

describe('a value that the type of its field does not have', () => {
  const names = ['number', 'fraction', 'symbol', 'list'].flatMap((wrong) =>
    ['create', 'create-many', 'update', 'inside'].map((how) => `${how}-${wrong}`),
  )
  test.each(names)('is a bug of the plugin, which stores nothing: %s', async (name) => {
    expect((await ask(name))[0]).toBe(500)
    expect(causeOf()).toMatchObject({
      cause: { message: expect.stringMatching(/ is not a value of the type `(?:string|decimal)`$/) },
    })
    expect(await list()).toMatchObject([{ title: 'first' }])
  })

  test.each(['retrieve', 'destroy'])('is one in a key, too: %s', async (name) => {
    expect((await ask(name))[0]).toBe(500)
    expect(causeOf()).toMatchObject({ cause: { message: '5 is not a value of the type `string`' } })
    expect((await api.fetch('/shelves/a/')).status).toBe(404)
  })
})

test('an invalid limit is a bug of the plugin, and keeps no other list waiting', async () => {
  for (const place of [0, 1, 2]) expect((await ask(`list-${place}`))[0]).toBe(500)
  expect(await list()).toHaveLength(1)
})

test.each([0, 1, 2, 3])(
  'an isolation that does not exist is a bug of the plugin, and nothing runs: %s',
  async (place) => {
    expect((await ask(`isolation-${place}`))[0]).toBe(500)
    expect(causeOf()).toMatchObject({
      cause: {
        message: expect.stringMatching(/^a transaction has the isolation .*; it must be serializable, or left out/),
      },
    })
    expect(await list()).toHaveLength(1)
  },
)

test('a problem whose class sets another type is a bug of the plugin', async () => {
  expect(await ask('sold')).toEqual([500, expect.objectContaining({ type: '/problems/internal' })])
})

test('a class of problems recognises its own', async () => {
  expect(await ask('kinds')).toEqual([
    200,
    [
      [false, true],
      [true, true],
    ],
  ])
})

test.each(['number', 'object'])('a stream yields text or bytes, not anything else: %s', async (name) => {
  expect((await ask(`stream-${name}`))[0]).toBe(500)
})

test('the texts and bytes of a stream are sent in order', async () => {
  expect(await ask('stream-mixed')).toEqual([200, [1, 2, 3]])
})

describe('a member that is undefined is left out', () => {
  test('by an update', async () => {
    expect(await ask('update-undefined')).toEqual([200, { id: 2, title: 'b', price: '1.50', pages: 7 }])
  })

  test('by a create, which stores the default', async () => {
    expect(await ask('create-undefined')).toEqual([200, { id: 2, title: 'a', price: null, pages: 1 }])
    expect((await ask('create-many-undefined'))[1]).toMatchObject([
      { title: 'a', pages: 1 },
      { title: 'b', pages: 2 },
    ])
  })
})

describe('an update', () => {
  test('may have the key of its record', async () => {
    expect(await ask('update-whole')).toEqual([200, { id: 2, title: 'b', price: null, pages: 1 }])
  })

  test('cannot have another one', async () => {
    const [status, { errors }] = (await ask('update-key')) as unknown as readonly [number, { readonly errors: object }]
    expect([status, errors]).toEqual([400, { id: "Id is part of the record's address and cannot be changed" }])
  })
})
