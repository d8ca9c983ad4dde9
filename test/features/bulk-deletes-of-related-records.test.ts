import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const fields = (model: string) =>
  `fields: { id: { type: bigint, primary_key: true, key: client }, parent: { type: belongs_to, model: ${model}, nullable: true } }`
const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  node: { table: nodes, ${fields('node')} }
  triggered: { table: triggered, ${fields('triggered')} }
resources:
  node: { model: node, path: /nodes/, bulk: [destroy] }
  hooked: { model: node, path: /hooked/, bulk: [destroy] }
  triggered: { model: triggered, path: /triggered/, bulk: [destroy] }
mounts:
  - { path: /json-server, dialect: json-server }
`
const SQL = `
  create function keep() returns trigger language plpgsql as $$ begin
    if old.id = 99 then return null; end if;
    return old;
  end $$;
  create trigger keep before delete on triggered for each row execute function keep();
`

let ran: unknown[]
const plugin: Plugin = (app) =>
  app.hooks('hooked', {
    beforeDestroy: ({ id }) => void ran.push(['before', id]),
    afterDestroy: ({ id }) => void ran.push(['after', id]),
  })

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(database, SQL)
  api = await startApi(YAML, { database, plugin })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  ran = []
  for (const table of ['nodes', 'triggered'])
    await runSql(
      database,
      `truncate ${table}; insert into ${table} values (1, null), (2, 1), (3, 2), (4, null), (5, 4)`,
    )
})

const PATHS = ['nodes', 'hooked', 'triggered'].flatMap((name) => [`/api/${name}/`, `/json-server/${name}/`])

test.each(PATHS.flatMap((path) => ['1,2,3', '3,2,1', '2,3,1'].map((ids) => ({ path, ids }))))(
  'records that refer to each other are deleted in any order: $path?ids=$ids',
  async ({ path, ids }) => {
    const response = await api.fetch(`${path}?ids=${ids}`, { method: 'DELETE' })
    expect(response.status).toBe(path.startsWith('/api/') ? 204 : 200)
    if (response.status === 200)
      expect(((await response.json()) as { id: number }[]).map(({ id }) => id).join()).toBe(ids)
    const left = ((await (await api.fetch(path)).json()) as { id: number }[]).map(({ id }) => id)
    expect(left).toEqual([4, 5])
  },
)

test.each(PATHS.map((path) => ({ path })))(
  'a record that another one refers to is named, whatever its place: $path',
  async ({ path }) => {
    for (const [ids, place] of [
      ['3,4', 1],
      ['4,3', 0],
    ] as const) {
      const response = await api.fetch(`${path}?ids=${ids}`, { method: 'DELETE' })
      const { errors } = (await response.json()) as { errors: object }
      expect([response.status, Object.keys(errors)]).toEqual([409, [`${place}.id`]])
    }
  },
)

test('hooks run before and after the deletion of all records, in their order', async () => {
  await api.fetch('/api/hooked/?ids=2,3,1', { method: 'DELETE' })
  expect(ran).toEqual([
    ['before', 2n],
    ['before', 3n],
    ['before', 1n],
    ['after', 2n],
    ['after', 3n],
    ['after', 1n],
  ])
})
