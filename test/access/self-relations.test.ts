import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks } from '../support/tasks.js'

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

let nodes: Tasks
beforeAll(async () => {
  nodes = await startTasks({ yaml: YAML, plugin })
})
afterAll(async () => {
  await nodes.close()
})
beforeEach(async () => {
  await nodes.database.query({ text: 'truncate nodes', values: [] })
  await nodes.database.query({ text: "insert into nodes (id, owner) values (1, 'ann'), (2, 'bob')", values: [] })
})

describe.each([
  ['whose grants show', '/granted/', 'ann', {}],
  ['whose scope has', '/scoped/', 'root', { 'x-owner': 'ann' }],
])('a caller %s some records', (_limit, path, caller, headers) => {
  const node = (id: number, parent: number | null) => ({ id, owner: 'ann', parent })
  const create = (body: unknown) => nodes.as(caller, 'POST', path, body, headers)

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
    expect((await nodes.database.query({ text: 'select id from nodes', values: [] })).rows).toHaveLength(2)
  })
})
