import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { introspect } from '../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../support/api.js'
import { specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'

const YAML = `version: 1
api: { prefix: "", explore: true }
plugins: [./plugin.mjs]
models:
  article:
    table: articles
    fields:
      id: { type: bigint, primary_key: true }
      tags: { type: array, items: { type: string, max: 9, pattern: "^[^!]*$" }, max: 3, default: [new] }
      prices: { type: array, items: { type: decimal, precision: 6, scale: 2, nullable: true }, nullable: true }
      seen: { type: array, items: { type: timestamp }, nullable: true }
      counts: { type: array, items: { type: bigint }, min: 1, nullable: true }
resources:
  article:
    model: article
    path: /articles/
    filterable: { tags: [has, contains, overlaps], counts: [has, isnull], seen: [has] }
`

const seen: unknown[] = []
const plugin: Plugin = (app) => {
  const article = app.resource('article')
  app.route('POST', '/handler/', 'handler', async ({ store }) => {
    const { item } = await store(article).create({ tags: ['{', 'NULL', '"'], counts: [9007199254740993n] })
    seen.push(item['tags'], item['counts'])
    return { status: 200, body: { id: String(item['id']) } }
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
})
afterAll(() => api.close())

const answer = async (method: string, path: string, body?: unknown) => {
  const response = body === undefined ? await api.fetch(path, { method }) : await api.send(method, path, body)
  return [response.status, response.status === 204 ? undefined : await response.json()] as const
}

describe('a list', () => {
  test('is stored as an array and returned item by item', async () => {
    const body = {
      tags: ['a,b', '', 'x"\\y'],
      prices: ['1.5', null],
      seen: ['2026-11-21T12:00:00+02:00'],
      counts: [1, 2],
    }
    const record = { id: 1, ...body, prices: ['1.50', null], seen: ['2026-11-21T10:00:00.000000Z'] }
    expect(await answer('POST', '/articles/', body)).toEqual([201, record])
    expect(await answer('GET', '/articles/1/')).toEqual([200, record])
    const { rows } = await api.database.query({
      text: 'select tags[3], cardinality(prices)::text, (seen[1] at time zone $$utc$$)::text from articles',
      values: [],
    })
    expect(rows).toEqual([['x"\\y', '2', '2026-11-21 10:00:00']])
  })

  test('has a default, and is replaced as a whole', async () => {
    expect(await answer('POST', '/articles/', {})).toMatchObject([201, { id: 2, tags: ['new'], prices: null }])
    expect(await answer('PATCH', '/articles/2/', { tags: [] })).toMatchObject([200, { tags: [] }])
  })

  test('keeps every digit of large numbers', async () => {
    const response = await api.fetch('/articles/2/', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: '{"counts":[ 9007199254740993 , -9223372036854775808]}',
    })
    expect(await response.text()).toContain('"counts":[9007199254740993,-9223372036854775808]')
  })

  test.each([
    [{ tags: 'a' }, 'tags', 'Tags must be a list'],
    [{ tags: ['a', 'b', 'c', 'd'] }, 'tags', 'Tags must have at most 3 items'],
    [{ counts: [] }, 'counts', 'Counts must have at least 1 item'],
    [
      { tags: ['a', 'wow!'] },
      'tags',
      'Tags must be a list in which each item must be a string, must not contain U+0000 or an unpaired surrogate, must be at most 9 characters, must match the pattern ^[^!]*$',
    ],
    [{ counts: [null] }, 'counts', 'Counts must be a list in which each item must be an integer, must be between'],
    [{ seen: ['yesterday'] }, 'seen', 'Seen must be a list in which each item must be'],
  ])('is rejected as %j', async (body, field, message) => {
    expect(await answer('POST', '/articles/', body)).toMatchObject([
      400,
      { errors: { [field]: expect.stringContaining(message) } },
    ])
  })

  test('is a list of values in handlers', async () => {
    expect(await answer('POST', '/handler/', {})).toEqual([200, { id: expect.any(String) }])
    expect(seen).toEqual([['{', 'NULL', '"'], [9007199254740993n]])
  })
})

describe('the rules that the database enforces', () => {
  test.each([
    ['items have a type', "insert into articles (tags) values ('{0123456789}')"],
    ['a list has at most so many items', "insert into articles (tags) values ('{a,b,c,d}')"],
    ['a list has at least so many items', "insert into articles (tags, counts) values ('{}', '{}')"],
    ['no item is null', "insert into articles (tags) values ('{a,null}')"],
    ['a list has no lists', "insert into articles (tags) values ('{{a},{b}}')"],
  ])('%s', async (_rule, text) => {
    await expect(api.database.query({ text, values: [] })).rejects.toThrow()
  })
})

describe('filters', () => {
  let filtered: Api
  beforeAll(async () => {
    filtered = await startApi(YAML, { plugin })
    for (const body of [
      { tags: ['red', 'a,b'], counts: [1], seen: ['2026-11-21T10:00:00Z'] },
      { tags: ['red', 'blue'] },
      { tags: [] },
    ])
      await filtered.send('POST', '/articles/', body)
  })
  afterAll(() => filtered.close())

  test.each([
    ['tags__has=red', [1, 2]],
    ['tags__has=a,b', [1]],
    ['tags__has=green', []],
    ['tags__contains=red,blue', [2]],
    ['tags__contains=red,a\\,b', [1]],
    ['tags__overlaps=blue,a\\,b', [1, 2]],
    ['counts__has=1', [1]],
    ['counts__isnull=true', [2, 3]],
    ['seen__has=2026-11-21T11:00:00%2B01:00', [1]],
  ])('%s', async (query, ids) => {
    const found = (await (await filtered.fetch(`/articles/?${query}`)).json()) as { id: number }[]
    expect(found.map(({ id }) => id)).toEqual(ids)
  })

  test.each([
    ['counts__has=x', 400],
    ['tags__has=%00', 400],
    ['tags=red', 400],
  ])('%s is rejected', async (query, status) => {
    expect((await filtered.fetch(`/articles/?${query}`)).status).toBe(status)
  })
})

test('documents have the type of the items', async () => {
  const { components, paths } = (await (await api.fetch('/openapi.json')).json()) as {
    components: { schemas: { Article: { properties: object } } }
    paths: Record<string, { get: { parameters: { name: string; schema: object }[] } }>
  }
  expect(components.schemas.Article.properties).toMatchObject({
    tags: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 9 } },
    prices: { items: { anyOf: [{ type: 'string', format: 'decimal' }, { type: 'null' }] } },
  })
  const parameters = paths['/articles/']?.get.parameters ?? []
  expect(parameters.find(({ name }) => name === 'counts__has')?.schema).toMatchObject({ type: 'integer' })
})

test('mistakes in `items` are reported where they are', () => {
  const mistake = (items: string) => () =>
    specOf(
      `version: 1\nmodels: { a: { fields: { id: { type: integer, primary_key: true }, b: { type: array, items: ${items} } } } }`,
    )
  expect(mistake('{ type: json }')).toThrow(/json/)
  expect(mistake('{ type: string, maximum: 5 }')).toThrow('`maximum` is not a key of items of the type `string`')
  expect(mistake('{ type: string, min: 5, max: 2 }')).toThrow('`min` is 5, which is more than `max`, 2')
  expect(mistake('{}')).toThrow('lacks the key `type`')
})

describe('an array column of an unmanaged table', () => {
  let database: TestDatabase
  let others: Api
  beforeAll(async () => {
    database = await openTestDatabase('')
    for (const text of [
      "create table shelves (id serial primary key, tags text[] not null default '{a}', days date[], moves integer[][])",
      `insert into shelves (tags, days, moves) values ('{a,NULL}', '{2024-02-29}', '{{1,2},{3,4}}'), ('{}', null, null)`,
    ])
      await database.query({ text, values: [] })
    const { text } = await introspect(database, { file: 'resources.yaml', directory: (await makeFolder()).path })
    expect(text).toContain('{ type: array, items: { type: text, nullable: true }, default: [a] }')
    others = await startApi(text, { database, checkResponses: false })
  })
  afterAll(async () => {
    await others.close()
    await database.close()
  })

  test('is read and written, with null items', async () => {
    const records = (await (await others.fetch('/api/shelves/')).json()) as object[]
    expect(records).toEqual([
      {
        id: 1,
        tags: ['a', null],
        days: ['2024-02-29'],
        moves: [
          [1, 2],
          [3, 4],
        ],
      },
      { id: 2, tags: [], days: null, moves: null },
    ])
    const changed = await others.send('PUT', '/api/shelves/2/', records[1])
    expect([changed.status, await changed.json()]).toEqual([200, records[1]])
  })

  test('with lists in a list is shown, and such a value is rejected', async () => {
    const sent = await others.send('PATCH', '/api/shelves/1/', { moves: [[1, 2]] })
    expect([sent.status, await sent.json()]).toMatchObject([400, { errors: { moves: expect.any(String) } }])
    const kept = await others.send('PATCH', '/api/shelves/1/', { tags: ['b'] })
    expect(await kept.json()).toMatchObject({
      tags: ['b'],
      moves: [
        [1, 2],
        [3, 4],
      ],
    })
  })
})
