import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { linksOf } from '../../support/links.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  event:
    table: events
    fields:
      id: { type: bigint, primary_key: true }
      at: { type: timestamp }
      local: { type: local_timestamp }
      day: { type: date }
      opens: { type: time }
      weight: { type: float }
      price: { type: decimal, precision: 6, scale: 2 }
  opening:
    table: openings
    fields:
      opens: { type: time, primary_key: true }
      note: { type: string, max: 9 }
resources:
  opening: { model: opening, path: /openings/, bulk: [partial_update, destroy] }
  event:
    model: event
    path: /events/
    filterable: { at: [exact, lt], local: [exact, lt], day: [exact, in], opens: [exact, gte], weight: [exact, lte], price: [exact, in] }
    orderable: [at, local, day, opens, weight, price]
    pagination: { style: cursor, page_size: 1, count: none }
`

// Each in the order of PostgreSQL; the first and the last few are what no request can store, of `price` and `opens` only the last.
const VALUES = {
  at: [
    ['-infinity', '-infinity'],
    ['4714-11-24 00:00:00+00 BC', '4714-11-24 00:00:00+00 BC'],
    ['0001-12-31 23:59:59.999999+00 BC', '0001-12-31 23:59:59.999999+00 BC'],
    ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31 23:59:59.999999+00', '9999-12-31T23:59:59.999999Z'],
    ['10000-01-01 00:00:00+00', '10000-01-01 00:00:00+00'],
    ['294276-12-31 23:59:59.5+00', '294276-12-31 23:59:59.5+00'],
    ['infinity', 'infinity'],
  ],
  local: [
    ['-infinity', '-infinity'],
    ['4714-11-24 00:00:00 BC', '4714-11-24 00:00:00 BC'],
    ['0001-12-31 23:59:59.999999 BC', '0001-12-31 23:59:59.999999 BC'],
    ['0001-01-01 00:00:00', '0001-01-01T00:00:00.000000'],
    ['9999-12-31 23:59:59.999999', '9999-12-31T23:59:59.999999'],
    ['10000-01-01 00:00:00', '10000-01-01 00:00:00'],
    ['294276-12-31 23:59:59.5', '294276-12-31 23:59:59.5'],
    ['infinity', 'infinity'],
  ],
  day: [
    ['-infinity', '-infinity'],
    ['4714-11-24 BC', '4714-11-24 BC'],
    ['0001-02-29 BC', '0001-02-29 BC'],
    ['0001-01-01', '0001-01-01'],
    ['9999-12-31', '9999-12-31'],
    ['12000-02-29', '12000-02-29'],
    ['5874897-12-31', '5874897-12-31'],
    ['infinity', 'infinity'],
  ],
  opens: [
    ['00:00:00', '00:00:00'],
    ['00:00:00.000001', '00:00:00.000001'],
    ['09:00:00', '09:00:00'],
    ['09:30:00', '09:30:00'],
    ['09:30:00.250', '09:30:00.25'],
    ['20:00:00', '20:00:00'],
    ['23:59:59.999999', '23:59:59.999999'],
    ['24:00:00', '24:00:00'],
  ],
  weight: [
    ['-Infinity', '-Infinity'],
    ['-1e308', -1e308],
    ['-1', -1],
    ['0', 0],
    ['1', 1],
    ['1e308', 1e308],
    ['Infinity', 'Infinity'],
    ['NaN', 'NaN'],
  ],
  price: [
    ['-9999.99', '-9999.99'],
    ['-1', '-1.00'],
    ['0', '0.00'],
    ['1', '1.00'],
    ['2', '2.00'],
    ['3', '3.00'],
    ['NaN', 'NaN'],
    ['NaN', 'NaN'],
  ],
} as const
type Field = keyof typeof VALUES
const FIELDS = Object.keys(VALUES) as Field[]

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: false })
  const rows = VALUES.at.map((_, row) => `(${FIELDS.map((field) => `'${VALUES[field][row]?.[0]}'`).join(', ')})`)
  await api.database.query({
    text: `insert into events (${FIELDS.join(', ')}) values ${rows.join(', ')}`,
    values: [],
  })
})
afterAll(() => api.close())

type Event = Readonly<Record<string, unknown>>

const shown = (field: Field) => VALUES[field].map(([, value]) => value)

describe.each(FIELDS)('values that other programs stored as %s', (field) => {
  test.each(['', '-'])('are returned and ordered as in PostgreSQL, page by page: %j', async (sign) => {
    const found: unknown[] = []
    for (let path: string | undefined = `/events/?ordering=${sign}${field}`; path !== undefined && found.length < 9; ) {
      const response = await api.fetch(path)
      expect(response.status).toBe(200)
      found.push(...((await response.json()) as Event[]).map((event) => event[field]))
      path = linksOf(response)['next']
    }
    expect(found).toEqual(sign === '' ? shown(field) : shown(field).toReversed())
  })

  test('are found by filters on the returned values', async () => {
    for (const value of shown(field)) {
      const response = await api.fetch(`/events/?${field}=${encodeURIComponent(String(value))}`)
      expect(((await response.json()) as Event[]).map((event) => event[field])).toEqual([value])
    }
  })
})

test('cannot be sent in a body', async () => {
  for (const id of [1, 8]) {
    const event = (await (await api.fetch(`/events/${id}/`)).json()) as Event
    const answer = (await (await api.send('PUT', `/events/${id}/`, event)).json()) as { errors: object }
    const wrong = FIELDS.filter((field) => !['price', 'opens'].includes(field) || id === 8)
    expect(Object.keys(answer.errors)).toEqual(wrong)
  }
})

test('in a key are found by the path, and bodies leave them out', async () => {
  await api.database.query({ text: `insert into openings values ('24:00:00', 'late')`, values: [] })
  const path = '/openings/24%3A00%3A00/'
  const late = { opens: '24:00:00', note: 'late' }
  expect(await (await api.fetch(path)).json()).toEqual(late)
  const wrong = { opens: 'Opens must be a time of day such as 09:30:00' }
  const repeated = await api.send('PUT', path, late)
  expect([repeated.status, await repeated.json()]).toMatchObject([400, { errors: wrong }])
  for (const method of ['PUT', 'PATCH']) {
    const changed = await api.send(method, path, { note: method })
    expect([changed.status, await changed.json()]).toEqual([200, { opens: '24:00:00', note: method }])
  }
  const inBulk = await api.send('PATCH', '/openings/', [late])
  expect([inBulk.status, await inBulk.json()]).toMatchObject([400, { errors: { '0.opens': wrong.opens } }])
  const ids = new URLSearchParams({ ids: '24%3A00%3A00' })
  expect((await api.fetch(`/openings/?${ids}`, { method: 'DELETE' })).status).toBe(204)
})
