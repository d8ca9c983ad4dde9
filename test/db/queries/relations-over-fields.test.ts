import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Context, Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  line:
    table: lines
    primary_key: [tenant, position]
    fields:
      tenant: { type: integer }
      position: { type: integer }
      article: { type: string, max: 50 }
  delivery:
    table: deliveries
    fields:
      id: { type: integer, primary_key: true }
      tenant: { type: integer, nullable: true, column: tenantId }
      position: { type: integer, nullable: true }
      next: { type: integer, nullable: true }
    relations:
      line: { model: line, fields: [tenant, position] }
      position_after: { model: line, fields: [tenant, next] }
resources:
  line: { model: line, path: /lines/ }
  delivery: { model: delivery, path: /deliveries/, expand: [line], bulk: [create] }
`

let work: (context: Context) => unknown = () => undefined
/** A request that names a tenant sees the lines of that tenant. */
const plugin: Plugin = (app) => {
  app.use((context, next) => {
    const tenant = context.headers['x-tenant']
    if (typeof tenant === 'string') context.scope('line', [{ field: 'tenant', value: Number(tenant) }])
    return next()
  })
  app.route('POST', '/run/', 'run', async (context) => ({
    status: 200,
    body: { result: (await work(context)) ?? null },
  }))
}

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  for (const text of [
    'truncate lines, deliveries restart identity',
    "insert into lines values (7, 1, 'Ink'), (7, 2, 'Pens'), (8, 1, 'Secret')",
    'insert into deliveries ("tenantId", position, next) values (7, 1, 2), (8, 1, null), (7, null, null)',
  ])
    await database.query({ text, values: [] })
})

const ask = async (method: string, path: string, body?: unknown) => {
  const response = await api.fetch(path, {
    method,
    headers: { 'x-tenant': '7', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as unknown }
}

test('a scope hides the records that a relation over several fields refers to', async () => {
  expect((await ask('GET', '/deliveries/?expand=line')).body).toMatchObject([
    { expanded: { line: { article: 'Ink' } } },
    { line: { tenant: 8, position: 1 }, expanded: { line: null } },
    { line: null, expanded: { line: null } },
  ])
})

test('a scope rejects references to records outside, as if they did not exist', async () => {
  const missing = 'The combination of Tenant and Position names a record that does not exist'
  const rejected = { status: 409, body: { errors: { tenant: missing, position: missing } } }
  expect(await ask('POST', '/deliveries/', { tenant: 8, position: 1 })).toMatchObject(rejected)
  expect(await ask('POST', '/deliveries/bulk/', [{ tenant: 8, position: 1 }])).toMatchObject({ status: 409 })
  expect(await ask('PATCH', '/deliveries/1/', { tenant: 8, next: null })).toMatchObject(rejected)
  expect(await ask('POST', '/deliveries/', { tenant: 8, position: null })).toMatchObject({ status: 201 })
  expect(await ask('PATCH', '/deliveries/1/', { position: 2 })).toMatchObject({ status: 200 })
})

test('the classes of context.models fetch and join it', async () => {
  work = ({ models }) => models['delivery']?.query().orderBy('id').withGraphFetched('[line, position_after]')
  const fetched = await api.send('POST', '/run/', {})
  expect(await fetched.json()).toMatchObject({
    result: [
      { id: 1, tenantId: 7, line: { article: 'Ink' }, position_after: { article: 'Pens' } },
      { id: 2, line: { article: 'Secret' }, position_after: null },
      { id: 3, line: null },
    ],
  })
  work = ({ models }) => models['delivery']?.query().withGraphJoined('line').where('line.article', 'Secret')
  expect(await (await api.send('POST', '/run/', {})).json()).toMatchObject({ result: [{ id: 2 }] })
})
