import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
auth:
  keys: true
  roles: { names: [member] }
  development: { ann: { roles: [member] } }
models:
  price:
    table: prices
    fields: { id: { type: bigint, primary_key: true }, unit: { type: string, max: 9 } }
resources:
  price:
    model: price
    path: /prices/
    access:
      - { to: member, may: list, rows: { unit__in: [$$, $$sub] } }
      - { to: member, may: create, set: { unit: $$sub } }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { env: { NODE_ENV: 'development' }, checkResponses: false })
})
afterAll(() => api.close())
const ANN = { authorization: 'Dev ann' }

test('in rules, two dollar signs stand for one, and not for a variable', async () => {
  await api.database.query({ text: "insert into prices (unit) values ('$'), ('$sub'), ('$$'), ('ann')", values: [] })
  const read = async () => (await api.fetch('/api/prices/', { headers: ANN })).json()
  expect(await read()).toEqual([
    { id: 1, unit: '$' },
    { id: 2, unit: '$sub' },
  ])
  expect((await api.send('POST', '/api/prices/', {}, ANN)).status).toBe(201)
  expect(await read()).toContainEqual({ id: 5, unit: '$sub' })
})
