import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { openTestDatabase } from '../support/database.js'

const YAML = `version: 1
auth: { roles: { names: [member, clerk] }, development: { ann: { roles: [member] }, root: { roles: [clerk] } } }
models:
  pay:
    table: pay
    managed: false
    primary_key: none
    fields: { salary: { type: integer }, name: { type: text } }
resources:
  pay: { model: pay, path: /pay/, operations: [list], access: [{ to: member, may: list, fields: [name] }, { to: clerk, may: list }] }
`

test('the order of records without a key reveals nothing of hidden fields', async () => {
  const database = await openTestDatabase(
    `create table pay (salary int not null, name text not null); insert into pay values (90, 'ann'), (30, 'bob'), (60, 'cid')`,
  )
  const api = await startApi(YAML, { database, checkResponses: false })
  const names = async (caller: string) => {
    const response = await api.fetch('/api/pay/', { headers: { authorization: `Dev ${caller}` } })
    return ((await response.json()) as readonly { name: string }[]).map(({ name }) => name)
  }
  expect(await names('ann')).toEqual(['ann', 'bob', 'cid'])
  expect(await names('root')).toEqual(['bob', 'cid', 'ann'])
  await api.close()
  await database.close()
})
