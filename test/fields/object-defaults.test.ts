import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  note:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 9 }
      none: { type: json, default: {} }
      some: { type: json, default: { color: red, "it's": [1, { deep: true }], nothing: null } }
resources:
  note: { model: note, path: /notes/ }
`
const SOME = { color: 'red', "it's": [1, { deep: true }], nothing: null }

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test('the default of a JSON field can be an object', async () => {
  const made = await api.send('POST', '/notes/', { title: 'a' })
  expect([made.status, await made.json()]).toMatchObject([201, { none: {}, some: SOME }])
  const changed = await api.send('PUT', '/notes/1/', { title: 'b', none: { a: 1 }, some: [] })
  expect(await changed.json()).toMatchObject({ none: { a: 1 }, some: [] })
})

test('the default is described', async () => {
  const answer = await api.fetch('/notes/', { method: 'OPTIONS' })
  expect(await answer.json()).toMatchObject({ fields: { none: { default: {} }, some: { default: SOME } } })
})

test.each([
  {
    wrong: 'json, default: { function: now }',
    message: 'the function `now` does not produce values of the type `json`',
  },
  { wrong: 'json, default: { function: now, a: 1 }', message: '`a` is not a key of a default' },
  { wrong: 'string, max: 9, default: {}', message: '`default` lacks the key `function`' },
])('a mapping with `function` calls one, and other types have no objects: $wrong', ({ wrong, message }) => {
  expect(() => specOf(YAML.replace('json, default: {}', wrong))).toThrow(message)
})
