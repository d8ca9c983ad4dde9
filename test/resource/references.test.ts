import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { migrateUp, schemaDifferences } from '../../src/internal.js'
import { planMigration } from '../../src/migrations/plan/generate.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'

const MODELS = `version: 1
models:
  country:
    fields:
      id: { type: bigint, primary_key: true }
      code: { type: string, max: 2, unique: true }
      name: { type: string, max: 80 }
  shelf:
    primary_key: [room, number]
    fields:
      room: { type: string, max: 10 }
      number: { type: integer }
      label: { type: string, max: 20, unique: true }
  city:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 80 }
      country: { type: belongs_to, model: country, references: code, column: country_code }
      twin: { type: belongs_to, model: country, references: code, nullable: true, on_delete: set_null }
      shelf: { type: belongs_to, model: shelf, references: label, nullable: true, on_delete: cascade }
`
const YAML = `${MODELS}resources:
  country: { model: country, path: /countries/ }
  shelf: { model: shelf, path: /shelves/ }
  city:
    model: city
    path: /cities/
    expand: [country, shelf]
    filterable: { country: [exact, in], shelf: [exact, isnull] }
    orderable: [country]
    pagination: { style: cursor, page_size: 1 }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const code of ['FR', 'DE']) await send('POST', '/api/countries/', { code, name: `The land of ${code}` }, 201)
  await send('POST', '/api/shelves/', { room: 'A', number: 1, label: 'Old / maps' }, 201)
})
afterAll(() => api.close())

async function send(method: string, path: string, body: unknown, status: number): Promise<Record<string, unknown>> {
  const response = await api.send(method, path, body)
  const text = await response.text()
  expect([response.status, text]).toEqual([status, text])
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}
const get = async (path: string): Promise<unknown> => (await api.fetch(path)).json()

describe('a relation to a unique field', () => {
  test('has the values of that field', async () => {
    const city = { name: 'Paris', country: 'FR', twin: 'DE', shelf: 'Old / maps' }
    const made = await send('POST', '/api/cities/', city, 201)
    expect(made).toMatchObject(city)
    expect(await get(`/api/cities/${String(made['id'])}/`)).toEqual(made)
    expect(await send('PUT', `/api/cities/${String(made['id'])}/`, made, 200)).toEqual(made)
    expect(await send('PATCH', `/api/cities/${String(made['id'])}/`, { twin: null }, 200)).toMatchObject({ twin: null })
  })

  test('rejects values that no record has, and values of another type', async () => {
    expect(await send('POST', '/api/cities/', { name: 'Oz', country: 'OZ' }, 409)).toMatchObject({
      errors: { country: expect.any(String) },
    })
    expect(await send('POST', '/api/cities/', { name: 'Oz', country: 'TOO LONG' }, 400)).toMatchObject({
      errors: { country: 'Country must be the code of an existing country' },
    })
  })

  test('is expanded, filtered by and ordered by', async () => {
    await send('POST', '/api/cities/', { name: 'Berlin', country: 'DE' }, 201)
    expect(await get('/api/cities/?country=FR&expand=country,shelf')).toMatchObject([
      { name: 'Paris', expanded: { country: { code: 'FR', name: 'The land of FR' }, shelf: { room: 'A', number: 1 } } },
    ])
    expect(await get('/api/cities/?country__in=DE,XX')).toMatchObject([{ name: 'Berlin' }])
    const first = await api.fetch('/api/cities/?ordering=country')
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect([await first.json(), await get(next)]).toMatchObject([[{ name: 'Berlin' }], [{ name: 'Paris' }]])
  })

  test('keeps the other record from changing that value, and from being deleted', async () => {
    expect(await send('PATCH', '/api/countries/1/', { code: 'FX' }, 409)).toMatchObject({
      detail: expect.stringContaining('A record of city still refers to it, by country'),
    })
    expect((await api.fetch('/api/countries/1/', { method: 'DELETE' })).status).toBe(409)
    expect((await api.fetch('/api/shelves/A/1/', { method: 'DELETE' })).status).toBe(204)
    expect(await get('/api/cities/?country=FR')).toEqual([])
  })

  test('is described in OPTIONS and shown in Explore', async () => {
    const options = (await (await api.fetch('/api/cities/', { method: 'OPTIONS' })).json()) as {
      fields: Record<string, { schema: unknown }>
    }
    expect(options.fields['country']?.schema).toMatchObject({ type: 'string', maxLength: 2 })
    const [city] = (await get('/api/cities/?country=DE')) as readonly { id: number }[]
    for (const path of ['/api/cities/', `/api/cities/${city?.id}/`, '/api/countries/2/']) {
      const page = await api.fetch(`/explore${path}`, { headers: { accept: 'text/html' } })
      expect([path, page.status]).toEqual([path, 200])
    }
    const country = await (await api.fetch('/explore/api/countries/2/')).text()
    expect(country).toContain('/api/cities/?country=DE')
  })
})

test.each([
  ['an existing', / {6}(country|twin): .*\n/g],
  ['a new', / {2}city:\n( {4}.*\n)+/],
])('the foreign key of %s table to a unique field is made after what makes it unique', async (_, missing) => {
  const before = MODELS.replace(', unique: true }\n      name', ' }\n      name').replace(missing, '')
  expect(ddlOf(specOf(MODELS))).toContain('foreign key ("country_code") references "country" ("code")')
  const folder = await makeFolder({ '0001_all.sql': `-- up\n${ddlOf(specOf(before))}` })
  const database = await openTestDatabase('')
  const scratch = await openTestDatabase('')
  try {
    await migrateUp(database, folder.path)
    const { steps, rejections } = await planMigration(specOf(MODELS), folder.path, scratch)
    expect(rejections).toEqual([])
    expect(JSON.stringify(steps)).toContain('country_code')
    for (const text of steps.flatMap(({ up }) => up)) await database.query({ text, values: [] })
    expect(await schemaDifferences(specOf(MODELS), database)).toEqual([])
    for (const text of steps.toReversed().flatMap(({ down }) => down)) await database.query({ text, values: [] })
    expect(await schemaDifferences(specOf(before), database)).toEqual([])
  } finally {
    await database.close()
    await scratch.close()
  }
})

describe('check', () => {
  const city = (field: string) => `${MODELS}      wrong: { type: belongs_to, ${field} }\nresources: {}\n`

  test.each([
    ['a field that there is not', 'model: country, references: cod', 'SC305'],
    ['a field that is not unique', 'model: country, references: name', 'SC311'],
    ['a part of a key', 'model: shelf, references: room', 'SC311'],
    ['a key of several fields', 'model: shelf', 'SC311'],
  ])('reports %s', (_, field, code) => {
    expect(mistakesOf(city(field)).map((each) => each.split(' ').at(-1))).toEqual([code])
  })

  test('reports a link, because paths have the primary key', () => {
    const linked = YAML.replace('    expand:', '    links: { country: country-detail }\n    expand:')
    expect(mistakesOf(linked)).toEqual([expect.stringContaining('SC311')])
  })

  test('reports a primary key that references itself', () => {
    const models = '{ a: { fields: { a: { type: belongs_to, model: a, references: a, primary_key: true } } } }'
    expect(mistakesOf(`version: 1\nmodels: ${models}\nresources: {}\n`)).toEqual([expect.stringContaining('SC311')])
  })

  test('takes the whole primary key', () => {
    expect(mistakesOf(city('model: country, references: id'))).toEqual([])
  })
})
