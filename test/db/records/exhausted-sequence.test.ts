import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  note:
    fields:
      id: { type: integer, primary_key: true }
      text: { type: text }
resources:
  note: { model: note, path: /notes/ }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
})
afterAll(() => api.close())

test('a create is rejected as unavailable when the sequence of its key has no numbers left', async () => {
  await api.database.query({ text: "select setval(pg_get_serial_sequence('note', 'id'), 2147483646)", values: [] })
  expect((await api.send('POST', '/notes/', { text: 'last' })).status).toBe(201)
  const rejected = await api.send('POST', '/notes/', { text: 'too late' })
  expect([rejected.status, await rejected.json()]).toEqual([
    503,
    expect.objectContaining({ type: '/problems/unavailable', detail: 'The sequence of a key is exhausted' }),
  ])
})
