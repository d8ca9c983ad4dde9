import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { joinKey, splitKey } from '../../src/resource/keys/record-key.js'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'

const MODELS = `version: 1
models:
  line:
    table: lines
    primary_key: [order_no, product]
    fields:
      order_no: { type: integer }
      product: { type: string, max: 20 }
      quantity: { type: integer, minimum: 1 }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      order_no: { type: integer }
      product: { type: string, max: 20 }
    relations:
      line: { model: line, fields: [order_no, product] }
    indexes: [[order_no, product]]
`
const DIALECTS = ['page', 'json-server', 'simple-rest', 'crud'] as const
const YAML = `${MODELS}resources:
  line:
    model: line
    path: /lines/
    dialect: plain
    filterable: { quantity: [gte] }
    orderable: [quantity]
    bulk: [create, partial_update, destroy]
  linked: { model: line, path: /linked/, dialect: page, url: true }
  note: { model: note, path: /notes/, dialect: page, links: { line: linked-detail } }
mounts:
${DIALECTS.map((dialect) => `  - { path: /${dialect}, dialect: ${dialect} }\n`).join('')}`

/** The ids of the records, in the order of their key. */
const IDS = ['1~a', '1~b%257Ec', '2~a', '2~x%7Ey z/.']
const RECORDS = [
  { order_no: 1, product: 'a', quantity: 10 },
  { order_no: 1, product: 'b%7Ec', quantity: 20 },
  { order_no: 2, product: 'a', quantity: 30 },
  { order_no: 2, product: 'x~y z/.', quantity: 40 },
]

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  expect((await api.send('POST', '/api/lines/', RECORDS)).status).toBe(201)
})
afterAll(() => api.close())

type Found = { readonly id: string; readonly quantity: number }

async function get(path: string): Promise<{ readonly status: number; readonly ids: readonly string[] }> {
  const response = await api.fetch(path)
  const body = (await response.json()) as
    | readonly Found[]
    | { readonly data?: readonly Found[]; readonly results?: readonly Found[] }
  const found = 'length' in body ? body : (body.data ?? body.results ?? [])
  return { status: response.status, ids: found.map(({ id }) => id) }
}

const recordPath = (dialect: string, id: string) => `/${dialect}/lines/${encodeURIComponent(id)}`

describe.each(DIALECTS)('in the dialect %s, records whose key has several fields', (dialect) => {
  test('have one id, which is the end of their path', async () => {
    expect(await get(`/${dialect}/lines`)).toEqual({ status: 200, ids: IDS })
    for (const [place, id] of IDS.entries()) {
      const response = await api.fetch(recordPath(dialect, id))
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ id, ...RECORDS[place] })
    }
  })

  test.each(['1', '1~', '1~a~b', '01~a', '1~%', '1~b~c', '9~a', '1~b%7Ec'])('are not found by %s', async (id) => {
    expect((await api.fetch(recordPath(dialect, id))).status).toBe(404)
  })

  test('are created, changed with the id in the body, and deleted', async () => {
    const made = await api.send('POST', `/${dialect}/lines`, { order_no: 3, product: '50%', quantity: 1 })
    expect(made.status).toBe(201)
    expect(await made.json()).toEqual({ id: '3~50%25', order_no: 3, product: '50%', quantity: 1 })
    const { pathname } = new URL(made.headers.get('location') ?? '', api.url)
    expect(pathname).toBe(`/${dialect}/lines/3~50%2525/`)
    const path = recordPath(dialect, '3~50%25')
    const record = { id: '3~50%25', order_no: 3, product: '50%', quantity: 2 }
    for (const method of ['PUT', 'PATCH']) {
      const changed = await api.send(method, path, record)
      expect({ status: changed.status, body: await changed.json() }).toEqual({ status: 200, body: record })
    }
    expect((await api.send('PATCH', path, { order_no: 4 })).status).toBe(400)
    expect([200, 204]).toContain((await api.fetch(path, { method: 'DELETE' })).status)
    expect((await api.fetch(path)).status).toBe(404)
  })

  test('are changed and deleted together', async () => {
    const bulk = dialect === 'crud' ? '/bulk' : ''
    const items = [1, 2].map((quantity) => ({ order_no: 5, product: `p~${quantity}`, quantity }))
    const made = await api.send('POST', `/${dialect}/lines${bulk}`, bulk === '' ? items : { bulk: items })
    expect(made.status).toBe(201)
    const changed = await api.send('PATCH', `/${dialect}/lines`, [
      { id: '5~p%7E1', quantity: 7 },
      { order_no: 5, product: 'p~2', quantity: 8 },
    ])
    expect({ status: changed.status, body: await changed.json() }).toMatchObject({
      status: 200,
      body: [
        { id: '5~p%7E1', quantity: 7 },
        { id: '5~p%7E2', quantity: 8 },
      ],
    })
    expect((await api.send('PATCH', `/${dialect}/lines`, [{ id: '5', quantity: 7 }])).status).toBe(400)
    const unnamed = await api.send('PATCH', `/${dialect}/lines`, [{ id: {}, quantity: 7 }])
    expect(unnamed.status).toBe(400)
    expect(await unnamed.text()).toMatch(/\bid must be a string/i)
    const ids = ['5~p%7E1', '5~p%7E2'].map((id) => encodeURIComponent(encodeURIComponent(id))).join(',')
    expect([200, 204]).toContain((await api.fetch(`/${dialect}/lines?ids=${ids}`, { method: 'DELETE' })).status)
  })
})

const text = (json: unknown) => encodeURIComponent(JSON.stringify(json))
const some = ['2~a', '1~b%257Ec', '7~none']

test.each([
  ['page', `id=${encodeURIComponent(some[0] ?? '')}&id=${encodeURIComponent(some[1] ?? '')}`, [IDS[1], IDS[2]]],
  ['page', 'ordering=-id', IDS.toReversed()],
  ['page', 'ordering=product', [IDS[0], IDS[2], IDS[1], IDS[3]]],
  ['page', 'id=2~a&quantity__gte=100', []],
  ['page', 'id__in=2~a,1~a&ordering=-id', [IDS[2], IDS[0]]],
  ['json-server', some.map((id) => `id=${encodeURIComponent(id)}`).join('&'), [IDS[1], IDS[2]]],
  ['json-server', '_sort=id&_order=desc&_start=0&_end=2', [IDS[3], IDS[2]]],
  ['simple-rest', `filter=${text({ id: some })}`, [IDS[1], IDS[2]]],
  ['simple-rest', `filter=${text({ id: [] })}`, []],
  ['simple-rest', `sort=${text(['id', 'DESC'])}&range=[0,1]`, [IDS[3], IDS[2]]],
  ['crud', `s=${text({ id: { $in: some } })}`, [IDS[1], IDS[2]]],
  ['crud', `s=${text({ id: '2~a' })}&sort=id,DESC`, [IDS[2]]],
])('a list in the dialect %s knows ids in ?%s', async (dialect, query, expected) => {
  expect(await get(`/${dialect}/lines?${query}`)).toEqual({ status: 200, ids: expected })
})

test('an invalid id in a filter is an error that names it', async () => {
  const response = await api.fetch('/json-server/lines?id=2~a&id=5')
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ detail: 'the value of `id` must be the id of a record; got `5`' })
})

test('a filter takes at most 100 ids', async () => {
  const list = (count: number) =>
    api.fetch(`/json-server/lines?${Array.from({ length: count }, (_, at) => `id=${at}~a`).join('&')}`)
  expect((await list(100)).status).toBe(200)
  const rejected = await list(101)
  expect(rejected.status).toBe(400)
  expect(await rejected.json()).toMatchObject({ detail: '`id` takes at most 100 values' })
})

test('links to these records, and their pages, have the same paths', async () => {
  expect((await api.send('POST', '/api/notes/', { id: 1, order_no: 2, product: 'x~y z/.' })).status).toBe(201)
  const { line } = (await (await api.fetch('/api/notes/1/')).json()) as { readonly line: string }
  expect(line).toBe('/api/linked/2~x%257Ey%20z%2F./')
  expect(await (await api.fetch(line)).json()).toMatchObject({ url: line, id: IDS[3] })
  expect((await api.fetch(`/explore${line}`)).status).toBe(200)
  expect(await (await api.fetch('/explore/page/notes/')).text()).toContain(line.replace('/api', '/explore/page'))
  expect(await (await api.fetch('/explore/page/lines/')).text()).toContain('/explore/page/lines/1~a/')
  expect(await (await api.fetch('/explore/page/lines/1~a/')).text()).toContain('<h1 dir="auto">page:line 1~a</h1>')
})

test('joining the parts of a key can be undone, and each id has one spelling', () => {
  const parts = fc.array(fc.string({ unit: fc.constantFrom('~', '%', '7', 'E', '2', '5', 'a') }), {
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(fc.property(parts, (given) => expect(splitKey(joinKey(given))).toEqual(given)))
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('~', '%', '7', 'E', 'e', '2', '5') }), (given) => {
      const found = splitKey(given)
      if (found) expect(joinKey(found)).toBe(given)
    }),
  )
})

test('a field `id` beside a key of several fields is an error', () => {
  const yaml = MODELS.replace('      quantity:', '      id: { type: integer }\n      quantity:')
  expect(mistakesOf(`${yaml}resources:\n  line: { model: line, path: /lines/, dialect: crud }\n`)).toEqual([
    '21:48 SC304',
  ])
  const resources = 'resources:\n  line: { model: line, path: /lines/ }\n'
  expect(mistakesOf(`${yaml}${resources}`)).toEqual([])
  expect(mistakesOf(`${yaml}${resources}mounts:\n  - { path: /crud, dialect: crud }\n`)).toEqual(['23:29 SC304'])
})

test('callers who do not see every part of a key do not see the id, and still find the record by its path', async () => {
  const limited = await startApi(
    `${MODELS}auth: { roles: { names: [member] }, keys: true }
resources:
  line:
    model: line
    path: /lines/
    dialect: json-server
    url: true
    access:
      - { to: anyone, may: read, fields: [order_no, quantity] }
      - { to: anyone, may: create }
`,
  )
  try {
    expect((await limited.send('POST', '/api/lines/', RECORDS[0])).status).toBe(201)
    expect(await (await limited.fetch('/api/lines/')).json()).toEqual([{ order_no: 1, quantity: 10 }])
    expect(await (await limited.fetch('/api/lines/1~a/')).json()).toEqual({ order_no: 1, quantity: 10 })
  } finally {
    await limited.close()
  }
})
