import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `
version: 1
api: { prefix: "" }
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
  sum:
    managed: false
    table: sums
    fields:
      id: { type: integer, primary_key: true }
      total: { type: integer }
resources:
  things: { model: thing, path: /things/, filterable: { count: [exact, in], tags: [has], mood: [exact], length: [exact] } }
  sums: { model: sum, path: /sums/, filterable: [id] }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of [
    `create type mood as enum ('ok')`,
    `create table things (id smallint primary key, count smallint not null, tags smallint[] not null, mood mood not null, length interval not null)`,
    `insert into things values (1, 2, '{3}', 'ok', '1 h')`,
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
