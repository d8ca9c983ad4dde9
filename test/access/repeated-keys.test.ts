import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

// An inheriting table, and a view with an INSTEAD OF trigger, repeat keys. Each caller may see and change its own records alone.
const OWN = 'rows: { owner: $sub }'
const grants = `access:
      - { to: member, may: read, ${OWN} }
      - { to: member, may: change, rows: { owner: $sub, size__lt: 2100 }, becomes: { size__gte: 0 } }
      - { to: member, may: change, rows: { owner: $sub, size__gte: 2100 }, becomes: { size__gte: 5 } }
      - { to: member, may: destroy, rows: { owner: $sub, id__lt: 13 } }`
const FIELDS =
  'fields: { id: { type: bigint, primary_key: true, key: client }, owner: { type: text }, size: { type: integer } }'
const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
database: { managed: false }
auth: { roles: { names: [member] }, user: { model: account, match: subject }, development: { ann: { roles: [member] }, bob: { roles: [member] } } }
models:
  account: { table: accounts, fields: { id: { type: uuid, primary_key: true, key: client }, subject: { type: text, unique: true } } }
  note: { table: notes, fields: { id: { type: bigint, primary_key: true, key: client }, account: { type: uuid } } }
  base: { table: base, ${FIELDS} }
  seen: { table: seen, ${FIELDS} }
resources:
  note:
    model: note
    path: /notes/
    access: [{ to: member, may: all, rows: { account: $user }, set: { account: $user } }]
  sized:
    model: base
    path: /sized/
    operations: [retrieve, destroy]
    access:
      - { to: member, may: read, ${OWN} }
      - { to: member, may: destroy, rows: { size__lt: 3500 } }
      - { to: member, may: finish, rows: { size__lt: 2000 } }
${['base', 'seen']
  .map(
    (name) => `  ${name}:
    model: ${name}
    path: /${name}/
    operations: [list, retrieve, update, partial_update, destroy]
    bulk: [partial_update, destroy]
    filterable: [owner]
    pagination: { page_size: 100, max_page_size: 1000, count: exact }
    ${grants}
`,
  )
  .join('')}
mounts:
  - { path: /json-server, dialect: json-server }
`

const SQL = `
  create table accounts (id uuid primary key, subject text not null);
  create table notes (id bigint primary key, account uuid);
  insert into accounts select gen_random_uuid(), subject from unnest(array['ann', 'bob', 'bob']) subject;
  insert into notes select row_number() over (order by subject), id from accounts;
  create table base (id bigint primary key, owner text not null, size int);
  create table kid () inherits (base);
  create view seen as select case when size = 1 then null else id end as id, owner, size from base;
  create function change() returns trigger language plpgsql as $$ begin
    update base set owner = new.owner, size = new.size where id = old.id and size = old.size;
    return new;
  end $$;
  create trigger change instead of update on seen for each row execute function change();
`
const ROWS = `
  truncate base, kid;
  insert into base select i, case when i % 2 = 0 then 'ann' else 'bob' end, i from generate_series(1, 3000) i;
  insert into kid select i, 'eve', 100000 + i from generate_series(2000, 2400) i;
  insert into kid values (10, 'ann', 2500), (12, 'ann', 4);
`

const plugin: Plugin = (app) => app.action('sized', 'finish', { summary: 'Finish', handle: () => undefined })

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  api = await startApi(YAML, { database, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(() => runSql(database, ROWS))

const asAnn = { authorization: 'Dev ann', 'content-type': 'application/json' }
const rowsOf = async (id: number) =>
  (
    await database.query({
      text: `select tableoid::regclass::text, owner, size::text from base where id = ${id} order by 1, 3`,
      values: [],
    })
  ).rows

describe.each([{ path: '/base/' }, { path: '/seen/' }])('$path', ({ path }) => {
  const send = async (method: string, url: string, body: unknown) =>
    (await api.fetch(url, { method, headers: asAnn, body: JSON.stringify(body) })).status

  test('lists on pages far from the first what the caller sees, and nothing else', async () => {
    for (const query of ['page=12', 'page=14', 'page=12&owner=ann']) {
      const response = await api.fetch(`${path}?page_size=100&${query}`, { headers: asAnn })
      const page = (await response.json()) as readonly { owner: string }[]
      expect([query, page.length, new Set(page.map(({ owner }) => owner))]).toEqual([query, 100, new Set(['ann'])])
    }
  })

  test.each([
    { name: 'PATCH', method: 'PATCH', at: '2002/', body: { size: 4 } },
    { name: 'PUT', method: 'PUT', at: '2002/', body: { owner: 'ann', size: 4 } },
    { name: 'a bulk PATCH', method: 'PATCH', at: '', body: [{ id: 2002, size: 4 }] },
  ])('$name leaves a record with the same key that no grant covers', async ({ method, at, body }) => {
    expect(await send(method, `${path}${at}`, body)).toBe(200)
    expect(await rowsOf(2002)).toEqual([
      ['base', 'ann', '4'],
      ['kid', 'eve', '102002'],
    ])
  })

  test('a change of two records with the same key needs one grant that covers both', async () => {
    expect(await send('PATCH', `${path}10/`, { size: 6 })).toBe(403)
    expect(await rowsOf(10)).toEqual([
      ['base', 'ann', '10'],
      ['kid', 'ann', '2500'],
    ])
    expect(await send('PATCH', `${path}12/`, { size: 6 })).toBe(200)
    expect(await rowsOf(12)).toEqual([
      ['base', 'ann', '6'],
      ['kid', 'ann', '6'],
    ])
  })
})

test('a bulk deletion of a record with a repeated key is not complete while another record stays', async () => {
  const remove = async (ids: string) =>
    (await api.fetch(`/base/?ids=${ids}`, { method: 'DELETE', headers: asAnn })).status
  expect(await remove('10,14')).toBe(403)
  expect(await remove('10,5000')).toBe(404)
  expect(await rowsOf(10)).toHaveLength(2)
  expect(await remove('10,12')).toBe(204)
  expect([...(await rowsOf(10)), ...(await rowsOf(12))]).toEqual([])
})

test('a deletion of two records with the same key needs grants that cover both', async () => {
  await runSql(database, 'update base set size = 3000 where id = 10')
  const remove = async (id: number) => (await api.fetch(`/sized/${id}/`, { method: 'DELETE', headers: asAnn })).status
  expect([await remove(10), await remove(14), await remove(5000)]).toEqual([204, 204, 404])
  await runSql(database, "insert into base values (16000, 'ann', 1); insert into kid values (16000, 'ann', 4000)")
  expect(await remove(16000)).toBe(403)
  expect(await rowsOf(16000)).toHaveLength(2)
  const taken = await api.fetch('/json-server/sized/16000', { method: 'DELETE', headers: asAnn })
  expect([taken.status, (await rowsOf(16000)).length]).toEqual([403, 2])
})

test('an action on two records with the same key needs a grant that covers both', async () => {
  const statusOf = async (id: number) =>
    (await api.fetch(`/sized/${id}/finish/`, { method: 'POST', headers: asAnn })).status
  expect([await statusOf(10), await statusOf(12), await statusOf(14)]).toEqual([403, 204, 204])
})

test('pages far from the first have the records whose key is null', async () => {
  await runSql(database, "update base set size = 1, owner = 'ann' where id > 1100")
  const response = await api.fetch('/seen/?page_size=1000&page=2', { headers: asAnn })
  const page = (await response.json()) as readonly { id: number | null }[]
  const total = Number(response.headers.get('x-total-count'))
  expect([page.length, page.at(-1)?.id]).toEqual([Math.min(1000, total - 1000), null])
})

test('a subject that two accounts have is that of no account', async () => {
  const send = async (caller: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Dev ${caller}`, 'content-type': 'application/json' }
    const response = await api.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return [response.status, method === 'GET' ? ((await response.json()) as unknown[]).length : undefined]
  }
  expect(await send('ann', 'GET', '/notes/')).toEqual([200, 1])
  expect(await send('ann', 'POST', '/notes/', { id: 11 })).toEqual([201, undefined])
  expect(await send('bob', 'GET', '/notes/')).toEqual([200, 0])
  expect(await send('bob', 'POST', '/notes/', { id: 12 })).toEqual([403, undefined])
  expect(await send('bob', 'DELETE', '/notes/2/')).toEqual([404, undefined])
})
