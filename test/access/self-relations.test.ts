import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import type { Database } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../support/roles.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { roles: { names: [admin] }, development: { ann: {}, root: { roles: [admin] } } }
models:
  node:
    table: nodes
    fields:
      id: { type: integer, primary_key: true, key: client }
      owner: { type: string, max: 9 }
      parent: { type: belongs_to, model: node, nullable: true }
resources:
  granted: { model: node, path: /granted/, bulk: [create], access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
  scoped: { model: node, path: /scoped/, bulk: [create], access: [{ to: admin, may: all }] }
`
const plugin: Plugin = (app) =>
  app.use((context, next) => {
    const { 'x-owner': owner } = context.headers
    if (typeof owner === 'string') context.scope('scoped', [{ field: 'owner', value: owner }])
    return next()
  })

// The database user has no privilege for the column that the model lacks.
const SQL = `${CREATE_ROLE}
  alter table nodes add secret text;
  grant truncate on nodes to ${ROLE};
  grant select (id, owner, parent_id), insert (id, owner, parent_id) on nodes to ${ROLE};
`

let database: TestDatabase
let clerk: Database
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(database, SQL)
  clerk = await openAsRole(database)
  api = await startApi(YAML, { database: clerk, plugin })
})
afterAll(async () => {
  await api.close()
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
})
beforeEach(() => runSql(clerk, "truncate nodes; insert into nodes (id, owner) values (1, 'ann'), (2, 'bob')"))

describe.each([
  ['whose grants show', '/granted/', 'ann', {}],
  ['whose scope has', '/scoped/', 'root', { 'x-owner': 'ann' }],
])('a caller %s some records', (_limit, path, caller, headers) => {
  const node = (id: number, parent: number | null) => ({ id, owner: 'ann', parent })
  const create = async (body: unknown) => {
    const response = await api.send('POST', path, body, { authorization: `Dev ${caller}`, ...headers })
    return { status: response.status, json: await response.json() }
  }

  test.each([
    ['other records of the request', [node(11, 12), node(12, null), node(13, 12), node(14, 1)]],
    ['itself', node(11, 11)],
  ])('creates a record that refers to %s', async (_what, body) => {
    expect(await create(body)).toMatchObject({ status: 201, json: body })
  })

  test.each([
    ['a hidden record', [node(11, null), node(12, 2)]],
    ['a hidden record, alone', node(11, 2)],
    ['a missing record', [node(11, 11), node(12, 99)]],
  ])('cannot create a record that refers to %s', async (_what, body) => {
    expect(await create(body)).toMatchObject({ status: 409, json: { type: '/problems/conflict' } })
    expect((await clerk.query({ text: 'select id from nodes', values: [] })).rows).toHaveLength(2)
  })
})
