import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Middleware, type Plugin, Problem, type Value } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: /api, explore: true }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 20, unique: true }
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 20 }
resources:
  book: { model: book, path: /books/, bulk: [create, partial_update, destroy], idempotency: optional }
  shelf: { model: shelf, path: /shelves/ }
mounts:
  - { path: /panel, dialect: json-server }
`

/** The middleware of the test that is running, for every route. */
let everywhere: Middleware
let ran: string[]
let tenant: Value<number>

const note =
  (name: string): Middleware =>
  (_context, next) => {
    ran.push(name)
    return next()
  }

const plugin: Plugin = (app) => {
  tenant = app.value<number>('tenant')
  app.use((context, next) => everywhere(context, next))
  app.use('/books/', note('path'), { problems: ['too_many_requests'] })
  app.use({ resource: 'book' }, note('resource'))
  app.use('/books/{key}/', note('record'))
  app.use('/books/bulk/', note('bulk'))
  app.route('GET', '/tenant/', 'tenant', (context) => ({ status: 200, body: { tenant: tenant.get(context) ?? null } }))
  app.action('book', 'rename', {
    summary: 'Rename a book',
    output: { tenant: { type: 'integer', nullable: true } },
    handle: ({ context }) => ({ tenant: tenant.get(context) ?? null }),
  })
  app.hooks('book', { beforeCreate: ({ context }) => void ran.push(`hook ${tenant.get(context)}`) })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, checkResponses: false })
})
afterAll(() => api.close())
beforeEach(async () => {
  await api.database.query({ text: 'truncate books, shelves restart identity', values: [] })
  ran = []
  everywhere = (_context, next) => next()
})

const dune = async () => {
  const created = await api.send('POST', '/api/books/', { title: 'Dune' })
  expect(created.status).toBe(201)
  ran = []
}

describe('a middleware for every route', () => {
  test('sets a header on lists, records, writes, bulk forms, actions, routes and mounts', async () => {
    await dune()
    everywhere = async (_context, next) => {
      const reply = await next()
      return { ...reply, headers: { ...reply.headers, 'X-Served-By': 'library' } }
    }
    const requests: readonly (readonly [string, string, unknown?])[] = [
      ['GET', '/api/books/'],
      ['GET', '/api/books/1/'],
      ['GET', '/api/shelves/'],
      ['GET', '/panel/books'],
      ['GET', '/api/tenant/'],
      ['POST', '/api/books/', { title: 'Emma' }],
      ['POST', '/api/books/bulk/', [{ title: 'Ubik' }]],
      ['PATCH', '/api/books/', [{ id: 1, title: 'Dune 2' }]],
      ['PUT', '/api/books/1/', { title: 'Dune 3' }],
      ['PATCH', '/api/books/1/', { title: 'Dune 4' }],
      ['POST', '/api/books/1/rename/'],
      ['DELETE', '/api/books/?ids=1'],
      ['DELETE', '/api/books/2/'],
    ]
    for (const [method, path, body] of requests) {
      const response = body === undefined ? await api.fetch(path, { method }) : await api.send(method, path, body)
      expect([method, path, response.status < 300]).toEqual([method, path, true])
      expect(response.headers.get('x-served-by')).toBe('library')
    }
  })

  test('can respond itself, and nothing after it runs', async () => {
    everywhere = () => {
      throw new Problem('too_many_requests', 'One request a minute', { headers: { 'Retry-After': '60' } })
    }
    const response = await api.send('POST', '/api/books/', { title: 'Dune' })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('60')
    expect(await response.json()).toMatchObject({ type: '/problems/too-many-requests', detail: 'One request a minute' })
    expect(ran).toEqual([])
    const { rows } = await api.database.query({ text: 'select 1 from books', values: [] })
    expect(rows).toEqual([])
  })

  test.each([
    ['unauthorized', 401],
    ['forbidden', 403],
  ] as const)('rejects with the problem %s', async (type, status) => {
    everywhere = () => {
      throw new Problem(type)
    }
    expect((await api.fetch('/api/shelves/')).status).toBe(status)
  })

  test('sees the problem of a rejected request', async () => {
    const seen: unknown[] = []
    everywhere = async (_context, next) => {
      try {
        return await next()
      } catch (error) {
        seen.push(error instanceof Problem && error.type)
        throw error
      }
    }
    expect((await api.fetch('/api/books/1/')).status).toBe(404)
    expect((await api.send('POST', '/api/books/', { title: '' })).status).toBe(400)
    expect(seen).toEqual(['not_found', 'validation'])
  })

  test('runs after `Accept` is checked and before parameters are', async () => {
    const answer: Middleware = () => ({ status: 200, body: { early: true } })
    everywhere = answer
    expect((await api.fetch('/api/books/', { headers: { accept: 'text/html' } })).status).toBe(406)
    expect(await (await api.fetch('/api/tenant/?nonsense=1')).json()).toEqual({ early: true })
  })

  test('runs for a repeated request too, unlike the handler', async () => {
    let count = 0
    everywhere = (_context, next) => {
      count += 1
      return next()
    }
    const send = () => api.send('POST', '/api/books/', { title: 'Dune' }, { 'Idempotency-Key': 'a-key-of-this-test' })
    expect((await send()).status).toBe(201)
    expect((await send()).headers.get('idempotency-replayed')).toBe('true')
    expect(count).toBe(2)
    expect(ran.filter((each) => each.startsWith('hook'))).toHaveLength(1)
  })

  test('surrounds the pages of Explore, and the requests in them', async () => {
    const paths: string[] = []
    everywhere = (context, next) => {
      paths.push(context.requestId)
      return next()
    }
    expect((await api.fetch('/explore/api/books/', { headers: { accept: 'text/html' } })).status).toBe(200)
    expect(paths.length).toBeGreaterThan(1)
    everywhere = () => {
      throw new Problem('unauthorized')
    }
    expect((await api.fetch('/explore/api/books/')).status).toBe(401)
    expect((await api.fetch('/docs/')).status).toBe(401)
  })
})

describe('a middleware for a path or a resource', () => {
  test.each([
    ['/api/books/', ['path', 'resource']],
    ['/api/books/1/', ['path', 'resource', 'record']],
    ['/panel/books', ['resource']],
    ['/api/shelves/', []],
    ['/api/tenant/', []],
  ])('surrounds %s in the order of registration', async (path, expected) => {
    await dune()
    expect((await api.fetch(path)).status).toBe(200)
    expect(ran).toEqual(expected)
  })

  test('surrounds actions', async () => {
    await dune()
    expect((await api.fetch('/api/books/1/rename/', { method: 'POST' })).status).toBe(200)
    expect(ran).toEqual(['path', 'resource', 'record'])
  })

  test('declares its problems in the OpenAPI document', async () => {
    const { paths } = (await (await api.fetch('/openapi.json')).json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>
    }
    const documented = (path: string, method: string) => Object.keys(paths[path]?.[method]?.responses ?? {})
    expect(documented('/api/books/', 'get')).toContain('429')
    expect(documented('/api/books/{id}/rename/', 'post')).toContain('429')
    expect(documented('/api/shelves/', 'get')).not.toContain('429')
  })
})

describe('a value of a request', () => {
  beforeEach(() => {
    everywhere = (context, next) => {
      tenant.set(context, 7)
      return next()
    }
  })

  test('reaches routes, actions and hooks', async () => {
    expect(await (await api.fetch('/api/tenant/')).json()).toEqual({ tenant: 7 })
    await dune()
    expect(await (await api.fetch('/api/books/1/rename/', { method: 'POST' })).json()).toEqual({ tenant: 7 })
    ran = []
    await api.send('POST', '/api/books/', { title: 'Emma' })
    expect(ran).toContain('hook 7')
  })

  test('does not reach the next request', async () => {
    await api.fetch('/api/tenant/')
    everywhere = (_context, next) => next()
    expect(await (await api.fetch('/api/tenant/')).json()).toEqual({ tenant: null })
  })
})

describe('a middleware with a mistake', () => {
  const failure = () => api.logged.findLast(({ event }) => event === 'failure') as unknown as Record<string, unknown>

  test.each<[string, Middleware, string]>([
    ['returns nothing', (() => undefined) as never, 'a middleware returned undefined; it must return a reply'],
    [
      'calls next() twice',
      async (_context, next) => {
        await next()
        return next()
      },
      'a middleware called next() twice',
    ],
  ])('is a 500 when it %s', async (_what, middleware, says) => {
    everywhere = middleware
    expect((await api.fetch('/api/books/')).status).toBe(500)
    expect(String((failure()['cause'] as Error).message)).toContain(says)
  })
})
