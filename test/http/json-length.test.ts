import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import fc from 'fast-check'
import { storedBytes } from '../../src/fields/spelling/stored-json.js'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "", max_body: 8388608 }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      short: { type: json, max: 20, nullable: true }
      free: { type: json, nullable: true }
      title: { type: string, max: 1000000, nullable: true }
resources:
  note: { model: note, path: /notes/, bulk: [create, partial_update], operations: [list, create, retrieve, update, partial_update] }
`

const plugin: Plugin = (app) => {
  app.route('POST', '/store/', 'store', async ({ store }) => {
    await store(app.resource('note')).create({ short: 'a'.repeat(19) })
    return { status: 204 }
  })
  app.action('note', 'shorten', {
    summary: 'Take a short value',
    input: { short: { type: 'json', max: 20 } },
    handle: () => undefined,
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
})
afterAll(() => api.close())

const TOO_LONG = 'Short must be at most 20 bytes, counting a space after each comma and colon'
const FREE = 'Free must be at most 1048576 bytes, counting a space after each comma and colon'

const sent = async (method: string, path: string, text: string) => {
  const headers = { 'content-type': 'application/json' }
  const response = await api.fetch(path, { method, headers, body: text })
  const body = await response.text()
  const { errors } = (body === '' ? {} : JSON.parse(body)) as { errors?: unknown }
  return [response.status, errors] as const
}

const made = async (text: string) => {
  const headers = { 'content-type': 'application/json' }
  const response = await api.fetch('/notes/', { method: 'POST', headers, body: text })
  expect(response.status).toBe(201)
  return response.headers.get('location') ?? ''
}

const sizes = async () =>
  (
    await api.database.query({
      text: 'select coalesce(octet_length(short::text), 0)::text, coalesce(octet_length(free::text), 0)::text from notes order by id desc limit 1',
      values: [],
    })
  ).rows[0]

test.each([
  { source: '"123456789012345678"' },
  { source: '"1234567890123456789"', rejected: true },
  { source: '[1,2,3,4,5,6]', length: 18 },
  { source: '[1,2,3,4,5,6,7]', rejected: true },
  { source: ' { "a" :\t1 ,\n"b" : [ ] } ', length: 17 },
  { source: '{"a":{"b":"ccccc"}}', rejected: true },
  { source: '1e19' },
  { source: '1e20', rejected: true },
  { source: '-1e18' },
  { source: '-1e19', length: 21, rejected: true },
  { source: '-0.0e2', length: 1 },
  { source: '0e300', length: 1 },
  { source: '1.50e1', length: 4 },
  { source: '120.5e-2', length: 5 },
  { source: '1e-17', length: 19 },
  { source: '1e-19', rejected: true },
  { source: '0.000e-3', length: 8 },
  { source: '"\\u0041\\/\\u00e9\\u20ac\\ud83d\\ude00\\u0009\\t\\"\\u001f"', length: 25, rejected: true },
  { source: '"\\u0041\\/\\u00e9\\u20ac\\ud83d\\ude00\\u0009\\t\\""', length: 19 },
  { source: '"\\\\u0041\\u2028é"', length: 14 },
  { source: '{"\\u0041,:1e9":"  "}', length: 16 },
])(
  'a `json` with `max: 20` takes $source: the bytes that PostgreSQL prints',
  async ({ source, length, rejected = false }) => {
    const printed = { text: 'select octet_length($1::jsonb::text)::text', values: [source] }
    const [[bytes] = []] = (await api.database.query(printed)).rows
    if (length !== undefined) expect(bytes).toBe(String(length))
    expect(Number(bytes) > 20).toBe(rejected)
    const answer = await sent('POST', '/notes/', `{"short":${source}}`)
    expect(answer).toEqual(rejected ? [400, { short: TOO_LONG }] : [201, undefined])
  },
)

test('the bytes are those of PostgreSQL for random values', async () => {
  const number = fc.stringMatching(/^-?(0|[1-9]\d{0,5})(\.\d{1,5})?([eE][+-]?\d{1,2})?$/)
  const text = fc.string({ unit: 'binary', maxLength: 8 }).map((each) => JSON.stringify(each.replaceAll('\0', '')))
  const escaped = fc.stringMatching(/^(\\u00[1-9a-fA-F][0-9a-fA-F]|\\[bfnrt"\\/]|\\ud83d\\ude0[0-9]|[ -!#-[a-z])*$/)
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      number,
      text,
      escaped.map((each) => `"${each.replace(/(?<!\\)(\\\\)*\\$/, '')}"`),
      fc.constantFrom('true', ' null', '{ }'),
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(' ,')}]`),
      fc
        .array(tie('value'), { maxLength: 4 })
        .map((items) => `{${items.map((item, at) => `"k${at}":\t${item}`).join(',\n')}}`),
    ),
  }))
  const isJson = (source: string) => {
    try {
      return JSON.parse(source) !== undefined && !/\\u0000/.test(source)
    } catch {
      return false
    }
  }
  const sources = fc.sample(value, 500).filter(isJson)
  expect(sources.length).toBeGreaterThan(300)
  const query =
    'select octet_length(text::jsonb::text)::text from jsonb_array_elements_text($1::jsonb) with ordinality as t(text, at) order by at'
  const { rows } = await api.database.query({ text: query, values: [JSON.stringify(sources)] })
  expect(sources.map((source) => [source, storedBytes(source)])).toEqual(
    sources.map((source, at) => [source, Number(rows[at]?.[0])]),
  )
})

const LONG = '"aaaaaaaaaaaaaaaaaaa"'
test.each([
  { door: 'POST', method: 'POST', path: '/notes/', body: `{"short":${LONG}}` },
  { door: 'PUT', method: 'PUT', body: `{"short":${LONG},"free":null,"title":null}` },
  { door: 'PATCH of a text', method: 'PATCH', body: `{"short":${LONG}}` },
  { door: 'PATCH of an object', method: 'PATCH', body: `{"short":{"a":${LONG}}}` },
  { door: 'a bulk POST', method: 'POST', path: '/notes/', body: `[{"short":1},{"short":${LONG}}]`, at: '1.short' },
  { door: 'an action', method: 'POST', action: 'shorten/', body: `{"short":${LONG}}` },
  { door: 'a store', method: 'POST', path: '/store/', body: '', message: 'Short is not valid' },
])(
  '$door rejects a value that is too long',
  async ({ method, path, action = '', body, at = 'short', message = TOO_LONG }) => {
    const target = path ?? `${await made('{"short":{}}')}${action}`
    expect(await sent(method, target, body)).toEqual([400, { [at]: message }])
  },
)

test('a PATCH in bulk names the record whose merged value is too long', async () => {
  const ids = [await made('{"short":{}}'), await made('{"short":{"a":"12345"}}')].map((path) => path.split('/')[2])
  const body = `[{"id":${ids[0]},"short":{"b":"12345"}},{"id":${ids[1]},"short":{"b":"12345"}}]`
  expect(await sent('PATCH', '/notes/', body)).toEqual([400, { '1.short': TOO_LONG }])
})

test('patches cannot make a value longer than 1 MiB, also two at once', async () => {
  const path = await made('{"free":{}}')
  const part = 'z'.repeat(400_000)
  expect((await sent('PATCH', path, `{"free":{"a":"${part}"}}`))[0]).toBe(200)
  const answers = await Promise.all(['b', 'c', 'd'].map((key) => sent('PATCH', path, `{"free":{"${key}":"${part}"}}`)))
  expect(answers.map(([status]) => status).sort()).toEqual([200, 400, 400])
  expect(answers.find(([status]) => status === 400)?.[1]).toEqual({ free: FREE })
  expect(Number((await sizes())?.[1])).toBeLessThan(1_048_576)
})

test('a patch may be longer than the value that it leaves', async () => {
  const path = await made('{"short":{"a":1}}')
  expect(await sent('PATCH', path, '{"short":{"a":null,"not there at all":null}}')).toEqual([200, undefined])
  expect((await sizes())?.[0]).toBe('2')
})

test('a longer value that was stored before stays, and may become shorter', async () => {
  const path = await made('{}')
  const id = path.split('/')[2] ?? ''
  const text = `update notes set free = jsonb_build_object('a', repeat('x', 2000000), 'b', 1) where id = $1`
  await api.database.query({ text, values: [id] })
  expect(await sent('PATCH', path, '{"title":"other"}')).toEqual([200, undefined])
  expect(await sent('PATCH', path, '{"free":{"c":1}}')).toEqual([400, { free: FREE }])
  expect(await sent('PATCH', path, '{"free":{"b":null}}')).toEqual([200, undefined])
  expect(await sent('PATCH', path, '{"free":{"a":1}}')).toEqual([200, undefined])
  expect((await sizes())?.[1]).toBe('8')
})

test('only `max` is a constraint of the table', async () => {
  const text = `select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'notes'::regclass and contype = 'c' and conname like '%length' order by 1`
  const { rows } = await api.database.query({ text, values: [] })
  expect(rows).toEqual([['notes_short_length', 'CHECK ((octet_length((short)::text) <= 20))']])
})

test('the length of a merged value is only told to a caller who may make the change', async () => {
  const yaml = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  note:
    table: owned
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9 }
      secret: { type: json, max: 20, write_only: true }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
  hooked: { model: note, path: /hooked/, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
`
  const hooks: Plugin = (app) => app.hooks('hooked', { beforeUpdate: () => ({}) })
  const guarded = await startApi(yaml, { plugin: hooks })
  try {
    const as = { authorization: 'Dev ann' }
    await guarded.send('POST', '/notes/', { owner: 'ann', secret: { a: '1234567890' } }, as)
    for (const path of ['/notes/1/', '/hooked/1/']) {
      const statuses = [
        await guarded.send('PATCH', path, { secret: { b: '1234567890' } }, as),
        await guarded.send('PATCH', path, { owner: 'bob', secret: { b: '1234567890' } }, as),
        await guarded.send('PATCH', path, { owner: 'bob', secret: { a: '' } }, as),
      ].map(({ status }) => status)
      expect(statuses).toEqual([400, 403, 403])
    }
  } finally {
    await guarded.close()
  }
})
