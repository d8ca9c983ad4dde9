import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { linksOf } from '../support/links.js'

const YAML = `
version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  thing:
    managed: false
    table: things
    fields:
      id: { type: integer, primary_key: true }
      count: { type: integer }
      tags: { type: array, items: { type: integer } }
      mood: { type: string }
      length: { type: interval }
  big:
    managed: false
    table: bigs
    fields:
      id: { type: bigint, primary_key: true, key: client }
      count: { type: bigint }
      amount: { type: decimal, precision: 6, scale: 2 }
  part:
    managed: false
    table: parts
    fields:
      id: { type: integer, primary_key: true }
      thing: { type: belongs_to, model: thing, column: thing }
  sum:
    managed: false
    table: sums
    fields:
      id: { type: integer, primary_key: true }
      total: { type: integer }
resources:
  things: { model: thing, path: /things/, bulk: [partial_update, destroy], filterable: { count: [exact, in], tags: [has], mood: [exact], length: [exact] }, export: true }
  bigs:
    model: big
    path: /bigs/
    filterable: { id: [in], count: [exact, gt, in], amount: [exact, lt, in] }
    orderable: [count, amount]
    pagination: { style: cursor, page_size: 1 }
  parts: { model: part, path: /parts/, filterable: [thing.count] }
  sums: { model: sum, path: /sums/, filterable: [id] }
`

const plugin: Plugin = (app) => {
  const things = app.resource('things')
  app.action('things', 'find', {
    summary: 'Find',
    on: 'collection',
    handle: async ({ context }) => {
      if ((await context.store(things).retrieve(40000)) === undefined) await context.store(things).retrieve(1)
    },
  })
}

let api: Api
beforeAll(async () => {
  // Documents do not have the values that only other programs store.
  api = await startApi(YAML, { plugin, checkResponses: false })
  for (const text of [
    `create type mood as enum ('ok')`,
    `create table things (id smallint primary key, count smallint not null, tags smallint[] not null, mood mood not null, length interval not null)`,
    `insert into things values (1, 2, '{3}', 'ok', '1 h')`,
    `create table parts (id integer primary key, thing smallint references things)`,
    `create table bigs (id integer primary key, count integer not null, amount numeric not null)`,
    `insert into bigs values (1, 5, 'Infinity'), (2, 6, '-Infinity'), (3, 7, 'NaN'), (4, 8, 12345678.125)`,
    `create view sums as select id, (count::text || '00000')::smallint as total from things`,
  ])
    await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

const send = async (path: string, method = 'GET', body?: unknown) => {
  const response = await api.fetch(path, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  return [response.status, ((await response.json()) as { readonly type?: string }).type]
}

describe('a value outside of the range of its column', () => {
  test.each(['count=40000', 'count__in=1,40000', 'tags__has=40000', 'mood=none'])(
    'is an invalid query as the filter %s',
    async (query) => {
      expect(await send(`/things/?${query}`)).toEqual([400, expect.stringContaining('invalid-query')])
    },
  )

  test.each(['id__in=1,5000000000', 'count=5000000000', 'count__gt=-5000000000', 'count__in=5000000000'])(
    'is an invalid query as the filter %s of a bigint in a smaller column',
    async (query) => {
      expect(await send(`/bigs/?${query}`)).toEqual([400, expect.stringContaining('invalid-query')])
    },
  )

  test.each([
    { path: '/things/?count=40000', named: '`count`' },
    { path: '/things/?count=1&count__in=1,40000', named: '`count`' },
    { path: '/things/?count=1&tags__has=40000', named: '`tags`' },
    { path: '/things/export.csv?count=40000', named: '`count`' },
    { path: '/things/?count=3&mood=none', named: '`mood`' },
    { path: '/parts/?thing.count=40000', named: '`thing.count`' },
    { path: '/bigs/?count__gt=-5000000000', named: '`count`' },
  ])('is named by its field: $path', async ({ path, named }) => {
    const response = await api.fetch(path)
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { detail: `A value is outside of the range of its column, in a filter of ${named}` },
    ])
  })

  test('is an invalid query in a cursor', async () => {
    const cursor = Buffer.from(JSON.stringify(['count,id', 'after', '5000000000', '1'])).toString('base64url')
    expect(await send(`/bigs/?ordering=count&cursor=${cursor}`)).toEqual([
      400,
      expect.stringContaining('invalid-query'),
    ])
  })

  test.each(['GET', 'DELETE'])('is the key of no record for %s of a bigint in a smaller column', async (method) => {
    expect(await send('/bigs/5000000000/', method)).toEqual([404, expect.stringContaining('not-found')])
  })

  test('is not a fault of the server if it depends on the version of PostgreSQL', async () => {
    expect([200, 400]).toContain((await send('/things/?length=infinity'))[0])
  })

  test.each([
    ['GET', undefined],
    ['PUT', { count: 1, tags: [], mood: 'ok', length: 'PT1H' }],
    ['PATCH', { count: 1 }],
    ['PATCH', {}],
    ['DELETE', undefined],
  ])('is the key of no record for %s %j', async (method, body) => {
    expect(await send('/things/40000/', method, body)).toEqual([404, expect.stringContaining('not-found')])
  })

  test.each([
    ['DELETE', '/things/?ids=1,40000', undefined],
    [
      'PATCH',
      '/things/',
      [
        { id: 1, count: 3 },
        { id: 40000, count: 3 },
      ],
    ],
    ['POST', '/things/find/', undefined],
  ])('is not found as a key of a bulk request, or in a transaction: %s %s', async (method, path, body) => {
    expect(await send(path, method, body)).toEqual([404, expect.stringContaining('not-found')])
    expect(await send('/things/1/')).toContain(200)
  })

  test('is rejected in a body', async () => {
    expect(await send('/things/1/', 'PATCH', { count: 40000 })).toEqual([400, expect.stringContaining('validation')])
  })

  test.each(['/sums/', '/sums/?id=1', '/sums/1/'])(
    'is a fault of the server if a view computes it: %s',
    async (path) => {
      expect(await send(path)).toEqual([500, expect.anything()])
    },
  )
})

describe('a decimal that is not finite', () => {
  test.each([
    ['amount=Infinity', [1]],
    ['amount=-Infinity', [2]],
    ['amount__in=-Infinity,12345678.125', [2, 4]],
    ['amount__lt=Infinity', [2, 4]],
    ['ordering=amount', [2, 4, 1, 3]],
    ['ordering=-amount', [3, 1, 4, 2]],
  ])('can be filtered and paged past: ?%s', async (query, found) => {
    const ids: number[] = []
    for (let link: string | undefined = `/bigs/?${query}`; link !== undefined && ids.length < 5; ) {
      const response = await api.fetch(link)
      expect([link, response.status]).toEqual([link, 200])
      ids.push(...((await response.json()) as readonly { readonly id: number }[]).map(({ id }) => id))
      link = linksOf(response)['next']
    }
    expect(ids).toEqual(found)
  })
})
