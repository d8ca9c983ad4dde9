import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'

const MODELS = `version: 1
models:
  country:
    table: countries
    fields:
      code: { type: string, max: 20, primary_key: true, key: client }
      people: { type: integer }
  counted:
    table: counted
    fields:
      number: { type: bigint, primary_key: true }
      name: { type: string, max: 20 }
  capital:
    table: capitals
    fields:
      country: { type: belongs_to, model: country, primary_key: true, key: client }
      name: { type: string, max: 20 }
`
const DIALECTS = ['page', 'json-server', 'simple-rest', 'crud'] as const
const YAML = `${MODELS}resources:
  country:
    model: country
    path: /countries/
    filterable: { code: [ne, startswith] }
    bulk: [create, partial_update, destroy]
  counted: { model: counted, path: /counted/, bulk: [partial_update] }
  capital: { model: capital, path: /capitals/, links: { country: country-detail } }
mounts:
${DIALECTS.map((dialect) => `  - { path: /${dialect}, dialect: ${dialect} }\n`).join('')}`

const RECORDS = [
  { code: 'a', people: 10 },
  { code: 'b%7Ec', people: 20 },
  { code: 'x~y z/.', people: 30 },
]
const CODES = RECORDS.map(({ code }) => code)

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  expect((await api.send('POST', '/api/countries/', RECORDS)).status).toBe(201)
  expect((await api.send('POST', '/api/counted/', { name: 'one' })).status).toBe(201)
  expect((await api.send('POST', '/api/capitals/', { country: 'x~y z/.', name: 'C' })).status).toBe(201)
})
afterAll(() => api.close())

type Found = { readonly id: unknown }

async function list(path: string): Promise<readonly Found[]> {
  const response = await api.fetch(path)
  expect(response.status).toBe(200)
  const body = (await response.json()) as
    | readonly Found[]
    | { readonly data?: readonly Found[]; readonly results?: readonly Found[] }
  return 'length' in body ? body : (body.data ?? body.results ?? [])
}

async function idsIn(path: string): Promise<readonly unknown[]> {
  return (await list(path)).map(({ id }) => id)
}

const recordPath = (dialect: string, code: string) => `/${dialect}/countries/${encodeURIComponent(code)}`

describe.each(DIALECTS)('in the dialect %s, records whose key is one field with another name', (dialect) => {
  test('have its value as `id`, which is the end of their path', async () => {
    expect(await list(`/${dialect}/countries`)).toEqual(RECORDS.map((record) => ({ id: record.code, ...record })))
    for (const record of RECORDS) {
      const response = await api.fetch(recordPath(dialect, record.code))
      expect(await response.json()).toEqual({ id: record.code, ...record })
    }
  })

  test('have an `id` of the type of the key', async () => {
    expect(await list(`/${dialect}/counted`)).toEqual([{ id: 1, number: 1, name: 'one' }])
    const [link] = await list(`/${dialect}/capitals`)
    expect(link).toEqual({ id: 'x~y z/.', country: `/${dialect}/countries/x~y%20z%2F./`, name: 'C' })
  })

  test('are created, changed with the id in the body, and deleted', async () => {
    const made = await api.send('POST', `/${dialect}/countries`, { code: '50%', people: 1 })
    expect({ status: made.status, body: await made.json() }).toEqual({
      status: 201,
      body: { id: '50%', code: '50%', people: 1 },
    })
    const path = recordPath(dialect, '50%')
    const record = { id: '50%', code: '50%', people: 2 }
    for (const method of ['PUT', 'PATCH']) {
      const changed = await api.send(method, path, record)
      expect({ status: changed.status, body: await changed.json() }).toEqual({ status: 200, body: record })
    }
    expect((await api.send('PATCH', path, { code: 'other' })).status).toBe(400)
    expect([200, 204]).toContain((await api.fetch(path, { method: 'DELETE' })).status)
    expect((await api.fetch(path)).status).toBe(404)
  })

  test('are changed and deleted together', async () => {
    const bulk = dialect === 'crud' ? '/bulk' : ''
    const items = ['p~1', 'p~2'].map((code) => ({ code, people: 1 }))
    expect((await api.send('POST', `/${dialect}/countries${bulk}`, bulk ? { bulk: items } : items)).status).toBe(201)
    const changed = await api.send('PATCH', `/${dialect}/countries`, [
      { id: 'p~1', people: 7 },
      { code: 'p~2', people: 8 },
    ])
    expect({ status: changed.status, body: await changed.json() }).toEqual({
      status: 200,
      body: [
        { id: 'p~1', code: 'p~1', people: 7 },
        { id: 'p~2', code: 'p~2', people: 8 },
      ],
    })
    const contradicting = await api.send('PATCH', `/${dialect}/countries`, [{ id: 'p~1', code: 'p~2', people: 9 }])
    expect(contradicting.status).toBe(400)
    const unnamed = await api.send('PATCH', `/${dialect}/countries`, [{ id: {}, people: 7 }])
    expect(unnamed.status).toBe(400)
    expect(await unnamed.text()).toMatch(/\bid must be a string/i)
    const numbered = await api.send('PATCH', `/${dialect}/counted`, [{ id: 1, name: 'one' }])
    expect(await numbered.json()).toEqual([{ id: 1, number: 1, name: 'one' }])
    expect([200, 204]).toContain((await api.fetch(`/${dialect}/countries?ids=p~1,p~2`, { method: 'DELETE' })).status)
    expect(await idsIn(`/${dialect}/countries`)).toEqual(CODES)
  })
})

const text = (json: unknown) => encodeURIComponent(JSON.stringify(json))

test.each([
  ['page', 'id=a&id=b%257Ec', [CODES[0], CODES[1]]],
  ['page', 'ordering=-id', CODES.toReversed()],
  ['page', 'code=a', [CODES[0]]],
  ['json-server', 'id=a&id=x~y%20z/.', [CODES[0], CODES[2]]],
  ['json-server', 'ids=a&ids=b%257Ec', [CODES[0], CODES[1]]],
  ['json-server', '_sort=id&_order=desc&_start=0&_end=2', [CODES[2], CODES[1]]],
  ['json-server', '_sort=code&_order=desc&_start=0&_end=1', [CODES[2]]],
  ['simple-rest', `filter=${text({ id: ['a', 'none'] })}`, [CODES[0]]],
  ['simple-rest', `sort=${text(['id', 'DESC'])}&range=[0,1]`, [CODES[2], CODES[1]]],
  ['crud', `s=${text({ id: { $in: ['a', 'x~y z/.'] } })}&sort=id,DESC`, [CODES[2], CODES[0]]],
  ['page', 'id__startswith=x', [CODES[2]]],
  ['json-server', 'id_ne=a', [CODES[1], CODES[2]]],
  ['simple-rest', `filter=${text({ id__startswith: 'b' })}`, [CODES[1]]],
  ['crud', `s=${text({ id: { $ne: 'a' } })}`, [CODES[1], CODES[2]]],
])('a list in the dialect %s knows ids in ?%s', async (dialect, query, expected) => {
  expect(await idsIn(`/${dialect}/countries?${query}`)).toEqual(expected)
})

test('an order by the id and by its field names a field twice', async () => {
  const response = await api.fetch('/json-server/countries?_sort=id,code&_start=0&_end=2')
  expect(response.status).toBe(400)
})

test('without a dialect, records have no `id`', async () => {
  expect(await (await api.fetch('/api/countries/a/')).json()).toEqual({ code: 'a', people: 10 })
  expect((await api.fetch('/api/countries/?id=a')).status).toBe(400)
})

test('documents describe the id, in responses, filters and bulk changes', async () => {
  const document = (await (await api.fetch('/openapi.json')).json()) as {
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> }
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters?: readonly object[] }>>>>
  }
  const { JsonServerCounted, Counted } = document.components.schemas
  expect(JsonServerCounted).toMatchObject({
    properties: { id: { type: 'integer', readOnly: true, description: 'The key of the record, `number`.' } },
    required: ['id', 'number', 'name'],
  })
  expect(Counted?.properties).not.toHaveProperty('id')
  expect(document.paths['/json-server/countries']?.['get']?.parameters).toContainEqual(
    expect.objectContaining({ name: 'id', in: 'query' }),
  )
  expect(document.paths['/json-server/countries']?.['get']?.parameters).toContainEqual(
    expect.objectContaining({ name: 'id_ne', in: 'query' }),
  )
  expect(JSON.stringify(document.paths['/json-server/countries']?.['patch'])).toContain(
    '"anyOf":[{"required":["id"]},{"required":["code"]}]',
  )
})

test('pages in /explore link to these records', async () => {
  expect(await (await api.fetch('/explore/json-server/countries/')).text()).toContain(
    '/explore/json-server/countries/a/',
  )
  expect((await api.fetch('/explore/json-server/countries/a/')).status).toBe(200)
})

test.each(['/json-server/capitals/', '/api/capitals/'])(
  'pages of %s in /explore link to records whose key is a link',
  async (path) => {
    const record = `/explore${path}x~y%20z%2F./`
    expect(await (await api.fetch(`/explore${path}`)).text()).toContain(`<a href="${record}">`)
    expect((await api.fetch(record)).status).toBe(200)
  },
)

test('another member `id` is an error in a dialect', () => {
  const yaml = MODELS.replace('      people:', '      id: { type: integer }\n      people:')
  const resources = 'resources:\n  country: { model: country, path: /countries/ }\n'
  expect(mistakesOf(`${yaml}${resources}`)).toEqual([])
  expect(mistakesOf(`${yaml}${resources}mounts:\n  - { path: /crud, dialect: crud }\n`)).toEqual(['22:29 SC304'])
  expect(mistakesOf(`${yaml}api: { dialect: page }\n${resources}`)).toEqual(['19:17 SC304'])
  const computed = 'computed: { id: { from: [code], type: string } }'
  expect(
    mistakesOf(`${MODELS}resources:\n  country: { model: country, path: /countries/, dialect: crud, ${computed} }\n`),
  ).toEqual(['19:58 SC304'])
})

test('callers who do not see the key do not see the id, and still find the record by its path', async () => {
  const limited = await startApi(
    `${MODELS}auth: { roles: { names: [member] }, keys: true }
resources:
  country:
    model: country
    path: /countries/
    dialect: json-server
    access:
      - { to: anyone, may: read, fields: [people] }
      - { to: anyone, may: create }
`,
  )
  try {
    expect((await limited.send('POST', '/api/countries/', RECORDS[0])).status).toBe(201)
    expect(await (await limited.fetch('/api/countries/')).json()).toEqual([{ people: 10 }])
    expect(await (await limited.fetch('/api/countries/a/')).json()).toEqual({ people: 10 })
    expect((await limited.fetch('/api/countries/?id=a')).status).toBe(400)
  } finally {
    await limited.close()
  }
})
