import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../../support/roles.js'

const KEY = 'id: { type: bigint, primary_key: true, key: client }'
const DELETE = 'operations: [list, retrieve, partial_update, destroy], bulk: [destroy]'
const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
auth: { development: { ann: {} } }
models:
  removable: { table: removable, fields: { ${KEY} } }
  hidden: { table: hidden, fields: { ${KEY}, text: { type: text } } }
  node:
    table: nodes
    fields:
      ${KEY}
      owner: { type: text }
      parent: { type: belongs_to, model: node, nullable: true }
      password: { type: text, write_only: true }
resources:
  removable: { model: removable, path: /removable/, ${DELETE}, access: [{ to: anyone, may: all }] }
  hidden: { model: hidden, path: /hidden/, ${DELETE}, access: [{ to: anyone, may: all }] }
  node:
    model: node
    path: /nodes/
    bulk: [create]
    access: [{ to: signed_in, may: all, rows: { owner: $sub } }]
mounts:
  - { path: /json-server, dialect: json-server }
`

const SQL = `${CREATE_ROLE}
  create table removable (id bigint primary key);
  grant select, delete on removable to ${ROLE};
  create table hidden (id bigint primary key, text text not null, deleted boolean not null default false, secret text);
  create function hide() returns trigger language plpgsql security definer as $$ begin
    if old.text = 'permanent' then return null; end if;
    update hidden set deleted = true where id = old.id;
    return null;
  end $$;
  create trigger hide before delete on hidden for each row execute function hide();
  create function keep() returns trigger language plpgsql as $$ begin
    if new.text = 'refused' then return null; end if;
    return new;
  end $$;
  create trigger keep before update on hidden for each row execute function keep();
  grant select (id, text, deleted), update (text), delete on hidden to ${ROLE};
  create table nodes (id bigint primary key, owner text not null, parent_id bigint references nodes, password text not null);
  grant select (id, owner, parent_id), insert on nodes to ${ROLE};
`

let database: TestDatabase
let clerk: Database
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  clerk = await openAsRole(database)
  api = await startApi(YAML, { database: clerk })
})
afterAll(async () => {
  await api.close()
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
})
beforeEach(async () => {
  if (clerk === database) await runSql(database, 'reset role')
  await runSql(database, 'truncate removable, hidden, nodes; insert into removable values (1), (2), (3)')
  await runSql(database, "insert into hidden values (1, 'a'), (2, 'b'), (3, 'permanent')")
  if (clerk === database) await runSql(database, `set role ${ROLE}`)
})

const statusOf = async (method: string, path: string, body?: unknown) => (await api.send(method, path, body)).status
const idsAt = async (path: string) => ((await (await api.fetch(path)).json()) as { id: number }[]).map(({ id }) => id)

test.each([
  { path: '/removable/?ids=3,1', status: 204, left: [2] },
  { path: '/json-server/removable/?ids=3,1', status: 200, left: [2] },
  { path: '/removable/?ids=1,7', status: 404, left: [1, 2, 3] },
])('records that the user of the database may not change, and so not lock, are deleted: $path', async (request) => {
  expect(await statusOf('DELETE', request.path)).toBe(request.status)
  expect(await idsAt('/removable/')).toEqual(request.left)
})

describe('a table with triggers that may skip a change, of which the user of the database may not read each column', () => {
  test.each([
    { method: 'DELETE', path: '/hidden/1/', body: undefined, status: 204 },
    { method: 'DELETE', path: '/hidden/?ids=2,1', body: undefined, status: 204 },
    { method: 'DELETE', path: '/hidden/3/', body: undefined, status: 409 },
    { method: 'DELETE', path: '/hidden/?ids=1,3', body: undefined, status: 409 },
    { method: 'PATCH', path: '/hidden/1/', body: { text: 'c' }, status: 200 },
    { method: 'PATCH', path: '/hidden/1/', body: { text: 'refused' }, status: 409 },
  ])('$method $path $body is $status', async ({ method, path, body, status }) => {
    expect(await statusOf(method, path, body)).toBe(status)
  })
})

test.each([
  { path: '/nodes/', body: { id: 1, owner: 'ann', parent: 1, password: 'x' } },
  {
    path: '/nodes/bulk/',
    body: [
      { id: 1, owner: 'ann', parent: 2, password: 'x' },
      { id: 2, owner: 'ann', parent: null, password: 'x' },
    ],
  },
])(
  'a write-only field of a record that refers to its own model need not be read: POST $path',
  async ({ path, body }) => {
    expect((await api.send('POST', path, body, { authorization: 'Dev ann' })).status).toBe(201)
  },
)
