import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  person:
    table: people
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 80 }
      email: { type: string, max: 80, nullable: true }
      status: { type: choice, choices: [open, done], default: open }
      deleted_at: { type: timestamp, nullable: true }
    indexes:
      - { fields: [name], unique: true, ignore_case: true, where: { deleted_at: null } }
      - { fields: [email], unique: true, ignore_case: true, message: Somebody has this address }
resources:
  person: { model: person, path: /people/, filterable: { email: [iexact] } }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
})
afterAll(() => api.close())

const create = (body: object) =>
  fetch(`${api.url}/people/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

test('a second text that differs only in case is a conflict that names the field', async () => {
  expect((await create({ name: 'Ada', email: 'ada@example.com' })).status).toBe(201)
  const taken = await create({ name: 'aDA' })
  expect(taken.status).toBe(409)
  expect(await taken.json()).toMatchObject({ errors: { name: expect.stringMatching(/taken/) } })
  const address = await create({ name: 'Bob', email: 'ADA@example.com' })
  expect(address.status).toBe(409)
  expect(await address.json()).toMatchObject({ errors: { email: 'Somebody has this address' } })
})

test('a record outside the condition of the index causes no conflict', async () => {
  const deleted = await create({ name: 'ADA', deleted_at: '2026-01-01T00:00:00Z' })
  expect(deleted.status).toBe(201)
  await deleted.text()
})

test('the error names the fields of an index with a name of its own', async () => {
  await api.database.query({ text: 'alter index people_email_lower_key rename to own_name', values: [] })
  const taken = await create({ name: 'Cid', email: 'Ada@Example.com' })
  expect(taken.status).toBe(409)
  expect(await taken.json()).toMatchObject({ errors: { email: expect.stringMatching(/taken/) } })
})

test('a filter by `iexact` uses an index that ignores case', async () => {
  const found = await fetch(`${api.url}/people/?email__iexact=ADA@Example.COM`)
  expect(await found.json()).toMatchObject([{ name: 'Ada' }])
  const more =
    "insert into people (name, email, status) select 'p' || n, 'p' || n, 'open' from generate_series(1, 5000) n"
  for (const text of [more, 'analyze people']) await api.database.query({ text, values: [] })
  const text = `explain select * from people where lower(email) = lower('ADA@example.com')`
  const { rows } = await api.database.query({ text, values: [] })
  expect(rows.map(([line]) => line).join('\n')).toContain('own_name')
})
