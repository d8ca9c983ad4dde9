import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '../../../src/db/database.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, watchDatabase } from '../../support/database.js'

const FIELDS = 'fields: { id: { type: bigint, primary_key: true, key: client }, text: { type: text } }'
const DELETE = 'operations: [list, create, retrieve, update, partial_update, destroy], bulk: [destroy, partial_update]'
const YAML = `version: 1
database: { managed: false }
models:
  log: { table: logs, ${FIELDS} }
  live_log: { table: live_logs, ${FIELDS} }
  kept: { table: kept, ${FIELDS} }
  ruled: { table: ruled, ${FIELDS} }
  free: { table: free, ${FIELDS} }
  returned_last: { table: returned_last, ${FIELDS} }
  returned_first: { table: returned_first, ${FIELDS} }
  branch: { table: branches, ${FIELDS} }
  node: { table: nodes, ${FIELDS} }
  folder: { table: folders, ${FIELDS} }
  calm: { table: calm, ${FIELDS} }
  locked: { table: locked, ${FIELDS} }
  page:
    table: pages
    fields: { id: { type: bigint, primary_key: true, key: client }, text: { type: text }, deleted: { type: boolean, default: false } }
  unnumbered: { table: unnumbered, fields: { id: { type: bigint, primary_key: true }, text: { type: text } } }
  numbered: { table: numbered, fields: { id: { type: bigint, primary_key: true }, text: { type: text } } }
resources:
  unnumbered: { model: unnumbered, path: /unnumbered/, bulk: [create] }
  numbered: { model: numbered, path: /numbered/ }
  log: { model: log, path: /logs/, ${DELETE} }
  live_log: { model: live_log, path: /live_logs/, ${DELETE} }
  kept: { model: kept, path: /kept/, ${DELETE} }
  ruled: { model: ruled, path: /ruled/, ${DELETE} }
  free: { model: free, path: /free/, ${DELETE} }
  returned_last: { model: returned_last, path: /returned_last/, ${DELETE} }
  returned_first: { model: returned_first, path: /returned_first/, ${DELETE} }
  branch: { model: branch, path: /branches/, ${DELETE} }
  node: { model: node, path: /nodes/, ${DELETE} }
  folder: { model: folder, path: /folders/, ${DELETE}, bulk_max: 500 }
  calm: { model: calm, path: /calm/, ${DELETE} }
  locked: { model: locked, path: /locked/, ${DELETE} }
  page: { model: page, path: /pages/, ${DELETE} }
mounts:
  - { path: /json-server, dialect: json-server }
`

let api: Api
let sent: Statement[]
const query = (text: string) => api.database.query({ text, values: [] })
beforeAll(async () => {
  const { watched, sent: statements } = watchDatabase(await openTestDatabase())
  sent = statements
  // A long chain is rejected by the number of its steps: they may take longer than the usual request on a slow machine.
  const limits = { handlerTimeout: 120_000 }
  api = await startApi(YAML, { database: watched, checkResponses: false, limits })
  for (const text of [
    'create table logs (id bigint primary key, text text not null, deleted boolean not null default false)',
    `create function hide() returns trigger language plpgsql as $$ begin
       if old.text = 'permanent' then return null; end if;
       update logs set deleted = true where id = old.id;
       return null;
     end $$`,
    'create trigger hide before delete on logs for each row execute function hide()',
    'create view live_logs as select id, text from logs where not deleted',
    'create table notes (text text)',
    'create table kept (id bigint primary key, text text not null)',
    `create function keep() returns trigger language plpgsql as $$ begin
       insert into notes values (tg_op);
       return null;
     end $$`,
    'create trigger keep before update or delete on kept for each row execute function keep()',
    'create table ruled (id bigint primary key, text text not null)',
    'create rule keep_deleted as on delete to ruled do instead insert into notes values (old.text)',
    'create table pages (id bigint primary key, text text not null, deleted boolean not null default false)',
    `create function hide_page() returns trigger language plpgsql as $$ begin
       update pages set deleted = true where id = old.id;
       return null;
     end $$`,
    'create trigger hide before delete on pages for each row execute function hide_page()',
    'create table calm (id bigint primary key, text text not null)',
    `create trigger calm before update on calm for each row execute function suppress_redundant_updates_trigger()`,
    'create table locked (id bigint primary key, text text not null)',
    `create function keep_locked() returns trigger language plpgsql as $$ begin
       if old.text = 'locked' then return null; end if;
       return new;
     end $$`,
    'create trigger a before update on locked for each row execute function keep_locked()',
    'create trigger b before update on locked for each row execute function suppress_redundant_updates_trigger()',
    'create table counted (id bigint generated always as identity primary key, text text not null)',
    'create view unnumbered as select id, text from counted',
    'create view numbered as select id, text from counted',
    `create function add() returns trigger language plpgsql as $$ begin
       insert into counted (text) values (new.text);
       return new;
     end $$`,
    `create function add_and_number() returns trigger language plpgsql as $$ begin
       insert into counted (text) values (new.text) returning id into new.id;
       return new;
     end $$`,
    'create trigger add instead of insert on unnumbered for each row execute function add()',
    'create trigger add instead of insert on numbered for each row execute function add_and_number()',
    'create table free (id bigint primary key, text text not null)',
    'create view returned_last as select id, text from free',
    'create view returned_first as select id, text from free',
    `create rule change as on update to returned_last do instead (
       update ruled set text = new.text where id = old.id;
       update free set text = new.text where id = old.id returning id, text)`,
    `create rule change as on update to returned_first do instead (
       update free set text = new.text where id = old.id returning id, text;
       update ruled set text = new.text where id = old.id)`,
    'create table branches (id bigint primary key, text text not null, parent bigint references branches on delete set null)',
    `create function keep_permanent() returns trigger language plpgsql as $$ begin
       if old.text = 'permanent' then return null; end if;
       return old;
     end $$`,
    'create trigger keep before delete on branches for each row execute function keep_permanent()',
    'create table nodes (id bigint primary key, text text not null, parent bigint references nodes, gone boolean not null default false)',
    `create function hide_node() returns trigger language plpgsql as $$ begin
       if old.text = 'permanent' then return null; end if;
       if old.text <> 'soft' then return old; end if;
       update nodes set gone = true, parent = null where id = old.id;
       return null;
     end $$`,
    'create trigger hide before delete on nodes for each row execute function hide_node()',
    'create table folders (id bigint primary key, text text not null, parent bigint references folders)',
    `create function keep_full() returns trigger language plpgsql as $$ begin
       if exists (select from folders where parent = old.id) then
         insert into notes values ('kept');
         return null;
       end if;
       return old;
     end $$`,
    'create index on folders (parent)',
    'create trigger keep before delete on folders for each row execute function keep_full()',
  ])
    await query(text)
})
afterAll(async () => {
  await api.close()
  await api.database.close()
})
beforeEach(async () => {
  await query('truncate logs, notes, kept, ruled, free')
  for (const table of ['logs', 'kept', 'ruled', 'free'])
    await query(`insert into ${table} (id, text) values (1, 'a'), (2, 'permanent'), (3, 'c')`)
})

const send = (method: string, path: string, body?: unknown) => api.send(method, path, body)
const statusOf = async (method: string, path: string, body?: unknown) => (await send(method, path, body)).status
const answer = async (method: string, path: string, body?: unknown) => {
  const response = await send(method, path, body)
  return [response.status, ((await response.json()) as { detail?: string }).detail]
}
const deleted = async () => (await query('select id::text from logs where deleted order by id')).rows.flat()
const KEPT = [409, 'The database did not delete the record: a trigger, a rule or a policy prevented it']
const UNRETURNED = [409, 'The database did not return the changed record: a trigger, a rule or a policy prevented it']

describe.each(['logs', 'live_logs'])('a record of `%s` that a trigger deletes by changing its row', (path) => {
  test('is deleted', async () => {
    expect(await statusOf('DELETE', `/api/${path}/1/`)).toBe(204)
    expect(await deleted()).toEqual(['1'])
  })

  test('is deleted among others', async () => {
    expect(await statusOf('DELETE', `/api/${path}/?ids=1,3`)).toBe(204)
    expect(await deleted()).toEqual(['1', '3'])
  })

  test('is returned by a dialect that returns it', async () => {
    const response = await send('DELETE', `/json-server/${path}/1`)
    expect([response.status, await response.json()]).toEqual([200, { id: 1, text: 'a' }])
    expect(await deleted()).toEqual(['1'])
  })

  test('is kept if the trigger keeps it, with all others', async () => {
    expect(await answer('DELETE', `/api/${path}/2/`)).toEqual(KEPT)
    expect(await answer('DELETE', `/api/${path}/?ids=1,2`)).toEqual(KEPT)
    expect(await deleted()).toEqual([])
  })

  test('is 404 if no record has the id', async () => {
    expect(await statusOf('DELETE', `/api/${path}/7/`)).toBe(404)
    expect(await statusOf('PATCH', `/api/${path}/7/`, { text: 'b' })).toBe(404)
  })

  test('can be changed', async () => {
    expect(await statusOf('PATCH', `/api/${path}/1/`, { text: 'b' })).toBe(200)
  })
})

test('a record that a trigger deletes by changing one of its fields is deleted, if it is as the client knows it', async () => {
  await query("insert into pages values (1, 'a')")
  const tag = (await api.fetch('/api/pages/1/')).headers.get('etag') ?? ''
  const destroy = async (known: string) =>
    (await api.fetch('/api/pages/1/', { method: 'DELETE', headers: { 'if-match': known } })).status
  const isDeleted = async () => (await query('select deleted::text from pages')).rows.flat()
  expect([await destroy('"other"'), await isDeleted()]).toEqual([412, ['false']])
  expect([await destroy(tag), await isDeleted()]).toEqual([204, ['true']])
  expect(await destroy(tag)).toBe(412)
})

test('a change to the stored values is made, although the trigger of PostgreSQL for such changes skips it', async () => {
  await query("insert into calm values (1, 'a')")
  for (const [method, path, body] of [
    ['PATCH', '/api/calm/1/', { text: 'b' }],
    ['PATCH', '/api/calm/1/', { text: 'b' }],
    ['PUT', '/api/calm/1/', { text: 'b' }],
    ['PATCH', '/api/calm/', [{ id: 1, text: 'b' }]],
  ] as const)
    expect(await statusOf(method, path, body)).toBe(200)
  expect(await statusOf('PATCH', '/api/calm/2/', { text: 'b' })).toBe(404)
})

test('a repeated change is made, but none that another trigger skips, if a table has both that trigger and one of PostgreSQL', async () => {
  await query("insert into locked values (1, 'a')")
  const change = (text: string) => statusOf('PATCH', '/api/locked/1/', { text })
  expect([await change('b'), await change('b'), await change('locked')]).toEqual([200, 200, 200])
  expect([await change('locked'), await change('c')]).toEqual([200, 409])
  expect(await statusOf('PATCH', '/api/locked/', [{ id: 1, text: 'locked' }])).toBe(200)
})

test.each([
  { caller: 'a caller', field: 'write_only: true', access: '' },
  {
    caller: 'a caller whose grants hide it',
    field: 'nullable: true',
    access: `auth: { roles: { names: [member] }, development: { ann: { roles: [member] } } }
resources:
  sealed: { model: sealed, path: /sealed/, bulk: [partial_update], access: [{ to: member, may: read, fields: { except: [pin] } }, { to: member, may: change }] }
`,
  },
])(
  '$caller cannot guess the value of a hidden field, whether or not another trigger keeps the record',
  async ({ field, access }) => {
    await query('create table if not exists sealed (id bigint primary key, text text not null, pin text)')
    await query('create or replace trigger a before update on sealed for each row execute function keep_locked()')
    await query(
      'create or replace trigger b before update on sealed for each row execute function suppress_redundant_updates_trigger()',
    )
    await query("insert into sealed values (1, 'locked', '1234'), (2, 'free', '1234') on conflict do nothing")
    const sealed = await startApi(
      `version: 1
database: { managed: false }
models:
  sealed: { table: sealed, fields: { id: { type: bigint, primary_key: true, key: client }, text: { type: text }, pin: { type: text, ${field} } } }
${access === '' ? 'resources: { sealed: { model: sealed, path: /sealed/, bulk: [partial_update] } }' : access}`,
      { database: api.database, checkResponses: false },
    )
    const change = async (path: string, body: unknown) => {
      const response = await sealed.send('PATCH', `/api/sealed/${path}`, body, { authorization: 'Dev ann' })
      const { errors } = (await response.json()) as { errors?: object }
      return [response.status, ...Object.keys(errors ?? {})]
    }
    const failing = { id: 1, text: 'x' }
    const responses: unknown[] = []
    for (const pin of ['1234', '9999'])
      responses.push([
        await change('1/', { pin }),
        await change('1/', { pin, text: 'x' }),
        await change('', [{ id: 2, pin }, failing]),
        await change('', [failing, { id: 2, pin }]),
      ])
    const plain = await change('1/', { text: 'locked' })
    await sealed.close()
    expect(responses[0]).toEqual([[200], [409], [409, '1.id'], [409, '0.id']])
    expect(responses[1]).toEqual(responses[0])
    expect(plain).toEqual([200])
  },
)

test('a change that changes nothing is skipped also where a rule names a generated column', async () => {
  await query(
    `create table sites (id bigint primary key, email text not null, host text generated always as (split_part(email, '@', 2)) stored)`,
  )
  await query(
    'create trigger calm before update on sites for each row execute function suppress_redundant_updates_trigger()',
  )
  await query(`insert into sites values (1, 'x@ann')`)
  const sites = await startApi(
    `version: 1
database: { managed: false }
auth: { roles: { names: [member] }, development: { ann: {} } }
models:
  site: { table: sites, fields: { id: { type: bigint, primary_key: true, key: client }, email: { type: text }, host: { type: text, generated: true } } }
resources:
  site: { model: site, path: /sites/, access: [{ to: signed_in, may: all, rows: { host: $sub } }] }
`,
    { database: api.database, checkResponses: false },
  )
  const statuses = []
  for (const email of ['x@ann', 'x@bob', 'y@ann'])
    statuses.push((await sites.send('PATCH', '/api/sites/1/', { email }, { authorization: 'Dev ann' })).status)
  await sites.close()
  expect(statuses).toEqual([200, 403, 200])
})

describe('a change that the database skips is a conflict, and nothing stays of it', () => {
  afterEach(async () => {
    expect((await query('select text from notes')).rows).toHaveLength(0)
  })

  test.each([
    ['PATCH', '/api/kept/1/', { text: 'b' }],
    ['PUT', '/api/kept/1/', { text: 'b' }],
    ['PATCH', '/api/kept/', [{ id: 1, text: 'b' }]],
    ['DELETE', '/api/kept/1/', undefined],
    ['DELETE', '/api/kept/?ids=1,3', undefined],
    ['DELETE', '/api/ruled/1/', undefined],
    ['DELETE', '/api/ruled/?ids=1,3', undefined],
  ])('%s %s', async (method, path, body) => {
    expect(await answer(method, path, body)).toEqual(method === 'DELETE' ? KEPT : UNRETURNED)
  })
})

test.each([
  { path: 'returned_last', expected: [200, undefined], stored: [['b']] },
  { path: 'returned_first', expected: UNRETURNED, stored: [['a']] },
])('a change by a rule with several actions needs a returned row of the last one: $path', async (each) => {
  expect(await answer('PATCH', `/api/${each.path}/1/`, { text: 'b' })).toEqual(each.expected)
  expect((await query('select text from free where id = 1')).rows).toEqual(each.stored)
})

test('a new record without a key, from the trigger of a view, is a conflict, and not stored', async () => {
  const keyless = [409, 'The database did not return the key of the new record: a trigger has not set it']
  expect(await answer('POST', '/api/unnumbered/', { text: 'a' })).toEqual(keyless)
  expect(await answer('POST', '/api/unnumbered/bulk/', [{ text: 'a' }])).toEqual(keyless)
  expect((await query('select id from counted')).rows).toEqual([])
  const made = await send('POST', '/api/numbered/', { text: 'a' })
  expect([made.status, await made.json()]).toEqual([201, { id: expect.any(Number), text: 'a' }])
  expect(await statusOf('GET', made.headers.get('location') ?? '')).toBe(200)
})

test('a record that a trigger keeps is not deleted among others, although the deletion of another one changes it', async () => {
  const stored = async () => (await query('select id::text, parent::text from branches order by id')).rows
  await query("insert into branches values (1, 'a', null), (2, 'permanent', 1), (3, 'b', 1)")
  for (const ids of ['1,2', '2,1', '3,2,1']) expect(await answer('DELETE', `/api/branches/?ids=${ids}`)).toEqual(KEPT)
  expect(await stored()).toEqual([
    ['1', null],
    ['2', '1'],
    ['3', '1'],
  ])
  expect(await statusOf('DELETE', '/api/branches/?ids=1,3')).toBe(204)
  expect(await stored()).toEqual([['2', null]])
})

describe('records of a table whose trigger changes some of them in place of a deletion are deleted', () => {
  const stored = async () => (await query('select id::text from nodes order by id')).rows.flat()
  beforeEach(async () => {
    await query('truncate nodes')
    await query(`insert into nodes values (1, 'a', 4), (2, 'b', 1), (3, 'soft', null), (4, 'c', 1), (5, 'soft', 2)`)
  })

  test.each([
    { name: 'a parent before its child', ids: '3,1,2,4,5', left: ['3', '5'] },
    { name: 'a child before its parent', ids: '2,5,1,4', left: ['3', '5'] },
    { name: 'records that refer to each other', ids: '5,2,4,1,3', left: ['3', '5'] },
    { name: 'records of which the trigger changes each', ids: '3,5', left: ['1', '2', '3', '4', '5'] },
    { name: 'records of which the trigger changes none', ids: '1,4,2,5', left: ['3', '5'] },
  ])('$name', async ({ ids, left }) => {
    expect(await statusOf('DELETE', `/api/nodes/?ids=${ids}`)).toBe(204)
    expect(await stored()).toEqual(left)
    expect((await query('select id::text from nodes where gone order by id')).rows.flat()).toEqual(
      left.filter((id) => ids.split(',').includes(id)),
    )
  })

  test.each([
    { name: 'one that another record refers to', ids: '3,1,2,5', errors: ['1.id'] },
    { name: 'one that the trigger keeps', ids: '3,6,5,2', errors: ['1.id'] },
  ])('but none of them with $name', async ({ ids, errors }) => {
    await query("insert into nodes values (6, 'permanent', 3)")
    const response = await send('DELETE', `/api/nodes/?ids=${ids}`)
    expect([response.status, Object.keys(((await response.json()) as { errors: object }).errors)]).toEqual([
      409,
      errors,
    ])
    expect(await stored()).toHaveLength(6)
    expect((await query('select id from nodes where gone')).rows).toEqual([])
  })
})

describe('records that a trigger keeps while others refer to them', () => {
  const stored = async () => (await query('select id::text from folders order by id')).rows.flat()
  beforeEach(async () => {
    await query('truncate folders')
    await query("insert into folders values (1, 'a', null), (2, 'b', 1), (3, 'c', 2), (4, 'd', null), (5, 'e', 4)")
  })

  test.each(['1,2,3', '3,2,1', '2,1,3', '5,3,4,2,1', '3'].map((ids) => ({ ids })))(
    'are deleted together with these: $ids',
    async ({ ids }) => {
      expect(await statusOf('DELETE', `/api/folders/?ids=${ids}`)).toBe(204)
      expect(await stored()).toEqual(['1', '2', '3', '4', '5'].filter((id) => !ids.split(',').includes(id)))
    },
  )

  test('are kept with all others of the request if one that refers to them is not among these', async () => {
    const response = await send('DELETE', '/api/folders/?ids=5,4,1,2')
    expect([response.status, Object.keys(((await response.json()) as { errors: object }).errors)]).toEqual([
      409,
      ['2.id'],
    ])
    expect(await stored()).toEqual(['1', '2', '3', '4', '5'])
  })

  describe('in a long chain', () => {
    /** Makes records of which each refers to the one before. Returns their ids, joined. */
    const makeChain = async (length: number) => {
      await query('truncate folders')
      await query(`insert into folders select i, 'x', nullif(i - 1, 0) from generate_series(1, ${length}) i`)
      sent.length = 0
      return Array.from({ length }, (_, place) => place + 1)
    }

    test.each([{ order: 'this order' }, { order: 'the reverse order' }])(
      'are deleted in $order by few statements, and triggers that kept them meanwhile have written nothing',
      async ({ order }) => {
        const ids = await makeChain(100)
        expect(await statusOf('DELETE', `/api/folders/?ids=${order === 'this order' ? ids : ids.toReversed()}`)).toBe(
          204,
        )
        expect(await stored()).toEqual([])
        expect(sent.length).toBeLessThan(500)
        expect((await query('select from notes')).rows).toEqual([])
      },
    )

    test('are a conflict if one request would take too long to delete them', async () => {
      const ids = await makeChain(400)
      expect(await answer('DELETE', `/api/folders/?ids=${ids}`)).toEqual([
        409,
        'The database deletes these records only one after another, in more steps than one request may take; delete fewer at once',
      ])
      expect(await stored()).toHaveLength(400)
    })
  })
})

test('a change of a table without such triggers is one statement', async () => {
  await send('DELETE', '/api/free/1/')
  sent.length = 0
  expect(await statusOf('PATCH', '/api/free/2/', { text: 'b' })).toBe(200)
  expect(await statusOf('DELETE', '/api/free/2/')).toBe(204)
  expect(await statusOf('DELETE', '/api/free/2/')).toBe(404)
  expect(sent.map(({ text }) => text.slice(0, 6))).toEqual(['update', 'delete', 'delete'])
})

test('the records of a table whose keys are unique are deleted in bulk by two statements', async () => {
  await send('DELETE', '/api/free/?ids=1')
  sent.length = 0
  expect(await statusOf('DELETE', '/api/free/?ids=3,2')).toBe(204)
  expect(sent.map(({ text }) => text.slice(0, 6))).toEqual(['select', 'delete'])
})
