import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const SQL = `
  create table books (id bigint primary key, title text not null);
  insert into books values (1, 'Dune'), (2, 'Emma');
  create view grouped as select id, max(title) as title from books group by id;
  create materialized view copied as select * from books;
  create view hooked as select id, max(title) as title from books group by id;
`
const RULES = `
  create table ruled (id bigint primary key, title text not null);
  insert into ruled values (1, 'Dune'), (2, 'Emma');
  create rule later as on insert to ruled where new.id > 9 do instead insert into books values (new.id, new.title);
  create rule kept as on update to ruled where old.id > 9 do instead nothing;
`
const VIEWS = ['grouped', 'copied', 'hooked']
const FIELDS = 'fields: { id: { type: bigint, primary_key: true, key: client }, title: { type: text } }'
const ALL =
  'operations: [list, create, retrieve, update, partial_update, destroy], bulk: [create, partial_update, destroy]'
const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
database: { managed: false }
models:
${[...VIEWS, 'ruled'].map((name) => `  ${name}: { table: ${name}, ${FIELDS} }`).join('\n')}
resources:
${[...VIEWS, 'ruled'].map((name) => `  ${name}: { model: ${name}, path: /${name}/, ${ALL} }`).join('\n')}
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(SQL + RULES)
  api = await startApi(YAML, {
    database,
    plugin: (app) => {
      app.hooks('hooked', { beforeCreate() {}, beforeUpdate() {}, beforeDestroy() {} })
    },
  })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const CHANGES = [
  { method: 'POST', path: '', body: { id: 3, title: 'Walden' } },
  { method: 'POST', path: '', body: [{ id: 3, title: 'Walden' }] },
  { method: 'PUT', path: '1/', body: { id: 1, title: 'Walden' } },
  { method: 'PATCH', path: '1/', body: { title: 'Walden' } },
  { method: 'PATCH', path: '', body: [{ id: 1, title: 'Walden' }] },
  { method: 'DELETE', path: '1/', body: undefined },
  { method: 'DELETE', path: '?ids=1,2', body: undefined },
]

test.each(VIEWS.flatMap((view) => CHANGES.map((change) => ({ view, ...change }))))(
  'a change of a view that PostgreSQL cannot change is 503: $method /$view/$path',
  async ({ view, method, path, body }) => {
    const response = await api.send(method, `/${view}/${path}`, body)
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({
        type: '/problems/unavailable',
        detail: 'The database is not set up for what this request does',
      }),
    ])
    expect(await (await api.fetch(`/${view}/`)).json()).toEqual([
      { id: 1, title: 'Dune' },
      { id: 2, title: 'Emma' },
    ])
  },
)

test.each(CHANGES.filter(({ method }) => method !== 'DELETE'))(
  'a change of a table whose rules replace some changes is 503: $method /ruled/$path',
  async ({ method, path, body }) => {
    const response = await api.send(method, `/ruled/${path}`, body)
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
      503,
      'The database is not set up for what this request does',
    ])
  },
)

test('records of a table whose rules replace some changes can be deleted', async () => {
  expect((await api.fetch('/ruled/?ids=1,2', { method: 'DELETE' })).status).toBe(204)
})
