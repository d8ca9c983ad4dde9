import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { runSql } from '../../support/existing.js'

const YAML = `version: 1
database: { managed: false }
plugins: [./plugin.mjs]
models:
  customer:
    table: sales.Customers
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: text }
      email: { type: text, unique: true }
  order:
    table: sales.orders
    fields:
      id: { type: bigint, primary_key: true }
      customer: { type: belongs_to, model: customer }
resources:
  customer: { model: customer, path: /customers/ }
  order: { model: order, path: /orders/ }
`
const plugin: Plugin = (app) =>
  app.route('POST', '/adding/', 'adding', async ({ knex, body }) => {
    const given = await body({ mediaTypes: ['application/json'], optional: false, limit: 1000 })
    await knex('sales.Customers').insert({ name: given.value('name'), email: given.value('email') })
    return { status: 204 }
  })

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
  await runSql(
    api.database,
    `create schema sales;
     create table sales."Customers" (id bigint generated always as identity primary key, name text not null check (name <> 'bad'),
       email text not null unique);
     create table sales.orders (id bigint generated always as identity primary key, customer_id bigint not null references sales."Customers");
     create schema hr;
     create table hr.orders (customer_id bigint references sales."Customers")`,
  )
})
afterAll(() => api.close())

test.each([
  { path: '/api/adding/', detail: 'A value cannot be stored' },
  { path: '/api/customers/', detail: 'Name is not valid' },
])('$path names the fields that a table in another schema rejects', async ({ path, detail }) => {
  expect((await api.send('POST', path, { name: 'Ada', email: path })).status).toBeLessThan(300)
  const taken = await api.send('POST', path, { name: 'Bo', email: path })
  expect([taken.status, await taken.json()]).toMatchObject([409, { errors: { email: expect.any(String) } }])
  const bad = await api.send('POST', path, { name: 'bad', email: `${path}2` })
  expect([bad.status, await bad.json()]).toMatchObject([400, { detail }])
})

test.each([
  ['sales.orders', 'A record of order still refers to it, by customer'],
  ['hr.orders', 'The change conflicts with another record'],
])('a customer to which %s refers cannot be deleted: %s', async (table, detail) => {
  const made = await api.send('POST', '/api/customers/', { name: 'Ada', email: table })
  const { id } = (await made.json()) as { readonly id: number }
  await api.database.query({ text: `insert into ${table} (customer_id) values ($1)`, values: [String(id)] })
  const deleted = await api.send('DELETE', `/api/customers/${id}/`, undefined)
  expect([deleted.status, await deleted.json()]).toMatchObject([409, { detail }])
})
