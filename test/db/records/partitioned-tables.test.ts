import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const YAML = `version: 1
models:
  sale:
    managed: false
    primary_key: [id, region]
    fields: { id: { type: integer, key: client }, region: { type: string, max: 9 } }
  refund:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      sale: { type: integer }
      region: { type: string, max: 9 }
    relations: { sold: { model: sale, fields: [sale, region] } }
resources:
  sale: { model: sale, path: /sales/ }
  refund: { model: refund, path: /refunds/ }
`

let api: Api
let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase(`
    create table sale (id int, region varchar(9), primary key (id, region)) partition by list (region);
    create table sale_north partition of sale for values in ('north');
    create table refund (id int primary key, sale int not null, region varchar(9) not null,
      foreign key (sale, region) references sale (id, region));
    insert into sale values (1, 'north');
    insert into refund values (1, 1, 'north')`)
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test('the conflict of a deleted record of a partition names what refers to it', async () => {
  const answer = await api.send('DELETE', '/api/sales/1/north/', undefined)
  expect([answer.status, await answer.json()]).toEqual([
    409,
    expect.objectContaining({ detail: 'A record of refund still refers to it, by sold' }),
  ])
})
