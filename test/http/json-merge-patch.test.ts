import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

// In the statement `m0` is the merged object, and `v` the value.
const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
models:
  book:
    table: m0
    fields:
      id: { type: bigint, primary_key: true }
      v: { type: json, nullable: true }
      title: { type: string, max: 20, nullable: true }
resources:
  book: { model: book, path: /books/ }
`

const plugin: Plugin = (app) =>
  app.route('POST', '/clear/{id}/', 'clear', async ({ params, store }) => {
    await store(app.resource('book')).update(BigInt(params['id'] ?? ''), { v: null })
    return { status: 204 }
  })

let api: Api
let path: string
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
})
afterAll(() => api.close())
beforeEach(async () => {
  path = (await api.send('POST', '/books/', {})).headers.get('location') ?? ''
})

const sent = async (method: string, text: string, type = 'application/json') => {
  const response = await api.fetch(path, { method, headers: { 'content-type': type }, body: text })
  return [response.status, await response.text()] as const
}

const stored = async () => (await (await api.fetch(path)).text()).replace(/^.*"v":(.*),"title":.*$/s, '$1')

/** Stores a value, patches it, and returns the stored result. */
const patched = async (value: string, patch: string, type?: string) => {
  await sent('PUT', `{"v":${value},"title":"kept"}`)
  const [status, document] = await sent('PATCH', `{"v":${patch}}`, type)
  expect([status, document]).toEqual([200, await (await api.fetch(path)).text()])
  expect(document).toContain('"title":"kept"')
  return stored()
}

describe('a PATCH merges an object into a stored JSON value (RFC 7396)', () => {
  // Appendix A, as far as the patch is an object or an array.
  test.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    // What is missing, or no object, is one to merge into.
    ['null', '{"a":{"b":null,"c":1}}', '{"a":{"c":1}}'],
    ['5', '{"a":1}', '{"a":1}'],
    ['{"a":[1]}', '{"a":{"0":2}}', '{"a":{"0":2}}'],
    ['{"a":{"b":{"c":1,"d":2}},"e":3}', '{"a":{"b":{"c":null,"x":[null]}}}', '{"a":{"b":{"d":2,"x":[null]}},"e":3}'],
    ['{"a":1}', '{}', '{"a":1}'],
    ['{"a":1}', 'null', 'null'],
    // Keys that mean something in a path, an array or a statement.
    [
      `{"a,b":1,"{}":{"\\"":1},"'":2}`,
      `{"a,b":null,"{}":{"\\"":null,"\\\\":3},"'":{"$1":4}}`,
      `{"{}":{"\\\\":3},"'":{"$1":4}}`,
    ],
  ])('%s by %s is %s', async (value, patch, expected) => {
    for (const type of ['application/json', 'application/merge-patch+json']) {
      expect(JSON.parse(await patched(value, patch, type))).toEqual(JSON.parse(expected))
    }
  })

  test('keeping every digit of old and new numbers', async () => {
    const value = '{"big":9007199254740993,"deep":{"exact":0.10000000000000000001}}'
    const merged = await patched(value, '{"more":12345678901234567890.10,"deep":{"other":[9223372036854775809]}}')
    for (const digits of [
      '9007199254740993',
      '0.10000000000000000001',
      '12345678901234567890.10',
      '9223372036854775809',
    ]) {
      expect(merged).toContain(digits)
    }
  })

  test('with many nested members', async () => {
    const members = Object.fromEntries(
      Array.from({ length: 120 }, (_, at) => [`k${at}`, { [`n${at}`]: at, gone: null }]),
    )
    const expected = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`k${at}`, { [`n${at}`]: at }]))
    expect(JSON.parse(await patched('{}', JSON.stringify(members)))).toEqual(expected)
    const deep = `${'{"a":'.repeat(30)}1${'}'.repeat(30)}`
    expect(JSON.parse(await patched('{"b":1}', deep))).toEqual({ b: 1, ...(JSON.parse(deep) as object) })
  })

  test('up to the number of objects that fit in a statement', async () => {
    const members = (count: number) =>
      JSON.stringify({ v: Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, {}])) })
    expect((await sent('PATCH', members(499)))[0]).toBe(200)
    const [status, problem] = await sent('PATCH', members(500))
    const v = 'V has 501 objects to be merged, and at most 500 can be; replace it by PUT'
    expect([status, JSON.parse(problem)]).toEqual([400, expect.objectContaining({ errors: { v } })])
  })

  test('without losing concurrent changes', async () => {
    await sent('PUT', '{"v":{"deep":{}},"title":null}')
    const keys = Array.from({ length: 30 }, (_, at) => `k${at}`)
    await Promise.all(keys.map((key) => sent('PATCH', `{"v":{"deep":{"${key}":1}}}`)))
    expect(Object.keys((JSON.parse(await stored()) as { deep: object }).deep).sort()).toEqual(keys.sort())
  })
})

test('a PUT replaces the whole value', async () => {
  await sent('PUT', '{"v":{"a":1},"title":null}')
  await sent('PUT', '{"v":{"b":1,"c":null},"title":null}')
  expect(JSON.parse(await stored())).toEqual({ b: 1, c: null })
})

const kind = async () =>
  (
    await api.database.query({
      text: "select coalesce(jsonb_typeof(v), 'none') from m0 order by id desc limit 1",
      values: [],
    })
  ).rows
const storeJsonNull = () => api.database.query({ text: "update m0 set v = 'null'", values: [] })

test('a stored JSON null, which is read as null, stays one when null is sent back', async () => {
  await storeJsonNull()
  expect(await stored()).toBe('null')
  expect(await sent('PUT', '{"v":null,"title":null}')).toEqual([200, await (await api.fetch(path)).text()])
  expect(await kind()).toEqual([['null']])
  await sent('PATCH', '{"v":null}')
  expect(await kind()).toEqual([['null']])
  await sent('PUT', '{"v":1,"title":null}')
  expect(await kind()).toEqual([['number']])
  await sent('PUT', '{"v":null,"title":null}')
  expect(await kind()).toEqual([['none']])
})

test('null from a plugin, which reads a stored JSON null as JSON, replaces it', async () => {
  await storeJsonNull()
  expect((await api.send('POST', path.replace('books', 'clear'), undefined)).status).toBe(204)
  expect(await kind()).toEqual([['none']])
})
