import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { runSql } from '../../support/existing.js'

const FIELDS = `
      id: { type: bigint, primary_key: true }
      price: { type: integer, default: 5 }
      low: { type: integer, default: 1 }
      high: { type: integer, default: 9 }
      cost: { type: integer, private: true, nullable: true }
      margin: { type: integer, default: 1 }
      code: { type: integer, column: Code, default: 5, message: A code is large }
      sold: { type: integer, default: 0 }`

const YAML = `version: 1
auth: { roles: { names: [seller] }, development: { sue: { roles: [seller] } } }
models:
  part:
    table: parts
    fields:${FIELDS}
    messages: { parts_sold: Too many are sold }
resources:
  part:
    model: part
    path: /parts/
    bulk: [create, partial_update]
    access:
      - { to: anyone, may: [list, create, partial_update, retrieve], fields: { except: [margin] } }
      - { to: seller, may: all }
mounts: [{ path: /json, dialect: json-server }]
`

const CHECKS = `
  alter table parts add constraint odd check (price > 0);
  alter table parts add check (low <= high);
  alter table parts add check (cost is null or cost <= high);
  alter table parts add constraint enough check (margin + sold < 50);
  alter table parts add check ("Code" > 3);
  alter table parts add constraint parts_sold check (sold < 20);
  alter table parts add column least integer not null default 0;
  alter table parts add check (sold >= least);
  alter table parts add constraint whole check (parts is not null or true);
  insert into parts (cost) values (4);
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await runSql(api.database, CHECKS)
})
afterAll(() => api.close())

const rejected = async (method: string, path: string, body: unknown, headers = {}) => {
  const response = await api.send(method, path, body, headers)
  const { detail, errors } = (await response.json()) as { readonly detail?: string; readonly errors?: object }
  return { status: response.status, detail, errors }
}

const PRICE = 'Price is not valid'
const LIMITS = 'The combination of Low and High is not valid'
const SOLD = 'Too many are sold'

test.each([
  { what: 'a field', body: { price: -1 }, detail: PRICE, errors: { price: PRICE } },
  { what: 'several fields', body: { low: 10 }, detail: LIMITS, errors: { low: LIMITS, high: LIMITS } },
  { what: 'a private field', body: { high: 3, low: 0 }, detail: 'A value cannot be stored', errors: undefined },
  { what: 'a column without a field', body: { sold: -1 }, detail: 'A value cannot be stored', errors: undefined },
  { what: 'a message of the model', body: { sold: 20 }, detail: SOLD, errors: { sold: SOLD } },
])('a check of $what names what the caller may know', async ({ what, body, detail, errors }) => {
  const answer = { status: 400, detail, errors }
  if (!what.includes('private')) {
    expect(await rejected('POST', '/api/parts/', body)).toEqual(answer)
    expect(await rejected('POST', '/api/parts/', [{ price: 7 }, body])).toEqual(answer)
    expect(await rejected('POST', '/json/parts/', body)).toEqual(answer)
  }
  expect(await rejected('PATCH', '/api/parts/1/', body)).toEqual(answer)
  const placed = Object.fromEntries(Object.entries(errors ?? { id: detail }).map(([name, text]) => [`0.${name}`, text]))
  expect(await rejected('PATCH', '/api/parts/', [{ id: 1, ...body }])).toEqual({ ...answer, errors: placed })
})

test('a check names no field if the caller does not see one of them', async () => {
  const seller = { authorization: 'Dev sue' }
  const detail = 'The combination of Margin and Sold is not valid'
  const body = { sold: 19, margin: 40 }
  expect(await rejected('PATCH', '/api/parts/1/', body, seller)).toMatchObject({
    errors: { margin: detail, sold: detail },
  })
  await api.send('PATCH', '/api/parts/1/', { margin: 40 }, seller)
  expect(await rejected('PATCH', '/api/parts/1/', { sold: 19 })).toEqual({
    status: 400,
    detail: 'A value cannot be stored',
    errors: undefined,
  })
})
