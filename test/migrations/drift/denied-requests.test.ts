import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { compileStoredKeys, makeKey } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../../support/roles.js'
import { waitUntil } from '../../support/wait-until.js'

const YAML = `version: 1
api: { prefix: "" }
auth: { keys: true, roles: { names: [shop] } }
models:
  order: { table: orders, fields: { id: { type: bigint, primary_key: true, key: client } } }
  note: { table: notes, fields: { id: { type: bigint, primary_key: true, key: client } } }
resources:
  order: { model: order, path: /orders/, operations: [create], idempotency: optional, access: [{ to: shop, may: create }] }
  note: { model: note, path: /notes/, access: [{ to: anyone, may: all }] }
`

let database: TestDatabase
let clerk: Database
let authorization: string
beforeAll(async () => {
  const spec = specOf(YAML)
  database = await openTestDatabase(ddlOf(spec))
  await runSql(database, CREATE_ROLE)
  const { key, ...made } = makeKey()
  if (!spec.keys) throw new Error('the configuration has no keys')
  await compileStoredKeys(spec.keys)(database).add({ ...made, subject: 'shop-1', roles: ['shop'], claims: {} })
  authorization = `Bearer ${key}`
  clerk = await openAsRole(database)
})
afterAll(async () => {
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
})

/** Runs statements as the owner. */
async function asOwner(sql: string): Promise<void> {
  if (clerk === database) await runSql(database, 'reset role')
  await runSql(database, sql)
  if (clerk === database) await runSql(database, `set role ${ROLE}`)
}

let api: Api
beforeEach(async () => {
  await asOwner(
    `grant all on all tables in schema public to ${ROLE}; grant all on all sequences in schema public to ${ROLE}`,
  )
  api = await startApi(YAML, { database: clerk })
})
afterEach(() => api.close())

let last = 0
const order = async () => {
  last += 1
  return (await api.send('POST', '/orders/', { id: last }, { authorization, 'idempotency-key': `key-${last}` })).status
}
const entries = () => api.logged.filter(({ event }) => !['failure', 'request'].includes(event))
const reason = (verb: string, right: string, table: string) =>
  `the role ${ROLE} may not ${verb} (as the owner: grant ${right} on "${table}" to "${ROLE}")`

test.each([
  ['orders', 'a resource that only creates returns the records'],
  ['snippetctl_keys', 'API keys'],
  ['snippetctl_answers', 'stored responses'],
])('a role that may not read %s: the log says what to grant (%s)', async (table) => {
  await asOwner(`revoke select on ${table} from ${ROLE}`)
  expect(await order()).toBe(503)
  await waitUntil(() => entries().length > 0)
  const differences = [reason('read it', 'select', table)]
  expect(entries()).toMatchObject([{ event: 'schema_drift', table, differences }])
  expect((await api.fetch('/notes/')).status).toBe(200)
  await asOwner(`grant select on ${table} to ${ROLE}`)
  await waitUntil(() => entries().length > 1)
  expect(entries()[1]).toMatchObject({ event: 'schema_fits', table })
  expect(await order()).toBe(201)
})

test.each([
  ['snippetctl_answers', 'insert', 'add rows', order],
  ['snippetctl_answers', 'update', 'update rows', order],
  ['snippetctl_answers', 'delete', 'delete rows', order],
  ['notes', 'delete', 'delete rows', async () => (await api.fetch('/notes/1/', { method: 'DELETE' })).status],
])('changes of %s without the right to %s are 503, and the log says why once', async (table, right, verb, request) => {
  await asOwner(`revoke ${right} on ${table} from ${ROLE}`)
  for (const status of [await request(), await request()]) expect(status).toBe(503)
  await waitUntil(() => entries().length > 0)
  const msg = `some requests that change the table ${table} return 503: ${reason(verb, right, table)}`
  expect(entries()).toMatchObject([{ event: 'changes_denied', table, msg }])
})
