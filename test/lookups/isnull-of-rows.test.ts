import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { runSql } from '../support/existing.js'

const YAML = `version: 1
database: { managed: false }
models:
  pairs: { fields: { id: { type: integer, primary_key: true }, pair: { type: opaque, column_type: pair, nullable: true } } }
resources:
  pairs: { model: pairs, path: /pairs/, filterable: { pair: [isnull] } }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await runSql(
    api.database,
    `create type pair as (a integer, b text);
     create table pairs (id integer primary key, pair pair);
     insert into pairs values (1, row(null, null)), (2, row(1, null)), (3, null)`,
  )
})
afterAll(() => api.close())

test('a row of nulls is a value, as in responses', async () => {
  const listed = async (flag: boolean) => (await api.fetch(`/api/pairs/?pair__isnull=${flag}`)).json()
  expect(await listed(false)).toEqual([
    { id: 1, pair: '(,)' },
    { id: 2, pair: '(1,)' },
  ])
  expect(await listed(true)).toEqual([{ id: 3, pair: null }])
})
