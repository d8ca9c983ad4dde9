import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Plugin, Problem } from '../../src/index.js'
import type { Connection, Database } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const access = 'access: [{ to: signed_in, may: all, rows: { owner: $sub } }]'
const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { roles: { names: [admin] }, development: { ann: {}, root: { roles: [admin] } } }
models:
  code:
    table: codes
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9 }
      name: { type: string, max: 9 }
    messages: { one_code: The code is taken }
resources:
  granted: { model: code, path: /granted/, bulk: [create, partial_update], ${access} }
  hooked: { model: code, path: /hooked/, bulk: [create, partial_update], ${access} }
  scoped: { model: code, path: /scoped/, bulk: [create, partial_update], access: [{ to: admin, may: all }] }
  caught: { model: code, path: /caught/, idempotency: optional, ${access} }
`
const plugin: Plugin = (app) => {
  app.hooks('hooked', { beforeCreate: () => ({}), beforeUpdate: () => ({}) })
  app.replace('caught', 'create', ({ generated }) =>
    generated().catch((error: Error) => ({ status: 200, body: { caught: error.message } })),
  )
  app.use({ resource: 'scoped' }, (context, next) => {
    context.scope('scoped', [{ field: 'owner', value: 'ann' }])
    return next()
  })
}

/** The reactions of a trigger to a row whose owner has its name already; `told` is the status for a caller who may write the row. */
const TRIGGERS = [
  { trigger: 'raises an error', does: `raise 'taken'`, told: 409 },
  { trigger: 'raises an error with a message', does: `raise 'taken' using constraint = 'one_code'`, told: 409 },
  { trigger: 'raises an error about a value', does: `raise 'taken' using errcode = '22000'`, told: 409 },
  {
    trigger: 'raises an error of a rule',
    does: `raise 'taken' using errcode = 'check_violation', constraint = 'a'`,
    told: 400,
  },
  { trigger: 'raises an error of a connection', does: `raise 'taken' using errcode = '57014'`, told: 409 },
  { trigger: 'divides by zero', does: 'perform 1 / 0', told: 409 },
  { trigger: 'selects two rows as a value', does: 'perform (select owner from codes)', told: 503 },
  { trigger: 'uses a table that is missing', does: 'perform from missing', told: 503 },
  { trigger: 'skips the row', does: 'return null', told: 409 },
]

const CALLERS = [
  { caller: 'under grants', path: '/granted/', as: 'ann', status: 403 },
  { caller: 'with hooks', path: '/hooked/', as: 'ann', status: 403 },
  { caller: 'in a scope', path: '/scoped/', as: 'root', status: 400 },
]

let database: TestDatabase
let api: Api
describe.each(TRIGGERS)('a trigger that $trigger', ({ does, told }) => {
  // The service looks for triggers once.
  beforeAll(async () => {
    database = await openTestDatabase(ddlOf(specOf(YAML)))
    const sql = `create function check_name() returns trigger language plpgsql as $$ begin
        if exists (select from codes where owner = new.owner and name = new.name and id <> new.id) then ${does}; end if;
        return new;
      end $$;
      create trigger check_name before insert or update on codes for each row execute function check_name()`
    await runSql(database, sql)
    api = await startApi(YAML, { database, plugin })
  })
  afterAll(async () => {
    await api.close()
    await database.close()
  })
  beforeEach(async () => {
    const rows = `truncate codes restart identity; insert into codes (owner, name) values ('ann', 'mine'), ('bob', 'taken')`
    await runSql(database, rows)
  })

  test.each(CALLERS)('does not tell what others have: $caller', async ({ path, as, status }) => {
    const answer = async (method: string, to: string, body: unknown) => {
      const response = await api.send(method, `${path}${to}`, body, { authorization: `Dev ${as}` })
      const { request_id: _id, ...problem } = (await response.json()) as Readonly<Record<string, unknown>>
      return [response.status, problem]
    }
    const writes = (name: string) => [
      { method: 'POST', to: '', body: { owner: 'bob', name } },
      {
        method: 'POST',
        to: '',
        body: [
          { owner: 'ann', name: 'new' },
          { owner: 'bob', name },
        ],
      },
      { method: 'PATCH', to: '1/', body: { owner: 'bob', name } },
      { method: 'PUT', to: '1/', body: { owner: 'bob', name } },
      { method: 'PATCH', to: '', body: [{ id: 1, owner: 'bob', name }] },
    ]
    for (const [place, { method, to, body }] of writes('taken').entries()) {
      const found = await answer(method, to, body)
      expect([method, found[0]]).toEqual([method, status])
      const free = writes('free')[place]
      expect(found).toEqual(await answer(method, to, free?.body))
    }
  })

  test.each([
    { method: 'POST', to: '' },
    { method: 'PATCH', to: '3/' },
  ])('rejects the row of a caller who may write it: $method', async ({ method, to }) => {
    await runSql(database, `insert into codes (owner, name) values ('ann', 'other')`)
    const body = { owner: 'ann', name: 'mine' }
    const { status } = await api.send(method, `/granted/${to}`, body, { authorization: 'Dev ann' })
    expect(status).toBe(told)
  })
})

/** Creates the tables, and a service that has looked at them. */
async function serveBefore(sql: string): Promise<void> {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(database, `insert into codes (owner, name) values ('ann', 'mine'), ('bob', 'taken')`)
  api = await startApi(YAML, { database, plugin })
  const { status } = await send('PATCH', '', [{ id: 1, owner: 'ann', name: 'mine' }])
  expect(status).toBe(200)
  await runSql(database, sql)
}

async function send(method: string, to: string, body: unknown) {
  const response = await api.send(method, `/granted/${to}`, body, { authorization: 'Dev ann' })
  const { detail } = (await response.json()) as { readonly detail?: string }
  return { status: response.status, detail }
}

describe('after the service has looked at the table', () => {
  afterEach(async () => {
    await api.close()
    await database.close()
  })

  const fails = `create function fails(name text) returns boolean language plpgsql stable as $$ begin
    return not exists (select from codes where codes.name = fails.name and owner = 'bob'); end $$;`
  const ADDED = [
    { what: 'a unique index', sql: 'create unique index one_name on codes (name)', own: 409 },
    { what: 'a check with a function', sql: `${fails} alter table codes add check (fails(name)) not valid`, own: 400 },
  ]

  test.each(ADDED)('$what that was added tells nothing in a transaction', async ({ sql }) => {
    await serveBefore(sql)
    const change = (name: string) => send('PATCH', '', [{ id: 1, owner: 'bob', name }])
    const first = await change('taken')
    expect(first.status).toBe(403)
    expect(await change('free')).toEqual(first)
    expect(await change('taken')).toEqual(first)
  })

  test.each(ADDED)('$what that was added is reported to a caller who may write the row', async ({ sql, own }) => {
    await serveBefore(sql)
    const change = () => send('PATCH', '', [{ id: 1, owner: 'ann', name: 'taken' }])
    expect((await change()).status).toBe(own)
    expect((await change()).status).toBe(own)
  })

  test.each(ADDED)('a replacement that catches its error sees the same error each time: $what', async ({ sql }) => {
    await serveBefore(sql)
    const caught = async (key: string) => {
      const headers = { authorization: 'Dev ann', 'idempotency-key': key }
      const response = await api.send('POST', '/caught/', { owner: 'ann', name: 'taken' }, headers)
      return [response.status, await response.json()]
    }
    const first = await caught('a')
    expect(first).toEqual([200, { caught: expect.stringMatching(/is taken by another record|cannot be stored/) }])
    expect(await caught('b')).toEqual(first)
  })

  test('a trigger that moves rows is seen at the first one that it takes, whoever has sent it', async () => {
    await serveBefore(`create table moved (like codes);
      create function move() returns trigger language plpgsql as $$ begin insert into moved select new.*; return null; end $$;
      create trigger move before insert on codes for each row execute function move()`)
    const statuses = []
    for (let count = 0; count < 3; count++)
      statuses.push((await send('POST', '', { owner: 'bob', name: 'new' })).status)
    expect(statuses).toEqual([504, 403, 403])
    const { rows } = await database.query({ text: 'select count(*)::text from moved', values: [] })
    expect(rows).toEqual([['1']])
  })
})

test('a reference that does not exist is reported although a trigger fills the field that the rule names', async () => {
  const yaml = `version: 1
api: { prefix: "" }
auth: { roles: { names: [admin] }, development: { ann: {} } }
models:
  shelf: { table: shelves, fields: { id: { type: bigint, primary_key: true } } }
  code:
    table: codes
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9, read_only: true, nullable: true }
      shelf: { type: belongs_to, model: shelf }
resources:
  shelf: { model: shelf, path: /shelves/, access: [{ to: signed_in, may: read }] }
  code: { model: code, path: /codes/, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
`
  database = await openTestDatabase(ddlOf(specOf(yaml)))
  await runSql(
    database,
    `create function fill() returns trigger language plpgsql as $$ begin new.owner := 'ann'; return new; end $$;
    create trigger fill before insert on codes for each row execute function fill()`,
  )
  api = await startApi(yaml, { database })
  const response = await api.send('POST', '/codes/', { shelf: 5 }, { authorization: 'Dev ann' })
  expect([response.status, await response.json()]).toMatchObject([409, { errors: { shelf: expect.any(String) } }])
  await api.close()
  await database.close()
})

test.each([
  { trigger: 'sets a field', runs: 'before', does: `new.name := lower(new.name);`, attempts: 0 },
  { trigger: 'writes an audit', runs: 'after', does: `insert into audit values (new.name);`, attempts: 0 },
  { trigger: 'looks at other records', runs: 'before', does: `perform from audit;`, attempts: 2 },
])('only a trigger that may collide costs savepoints: one that $trigger', async ({ runs, does, attempts }) => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(
    database,
    `insert into codes (owner, name) values ('ann', 'a'), ('ann', 'b'); create table audit (name text);
    create function act() returns trigger language plpgsql as $$ begin ${does} return new; end $$;
    create trigger act ${runs} update on codes for each row execute function act()`,
  )
  let attempted = 0
  const counting = (connection: Connection): Connection => ({
    ...connection,
    attempt: async (statement) => {
      attempted += statement.locks === true ? 0 : 1
      return (connection.attempt ?? connection.query)(statement)
    },
  })
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction((connection) => work(counting(connection)), options)
  const counted = Object.create(database, { transaction: { value: transaction } }) as Database
  api = await startApi(YAML, { database: counted, plugin })
  const changes = [1, 2].map((id) => ({ id, name: 'new', owner: 'ann' }))
  const { status } = await send('PATCH', '', changes)
  await api.close()
  await database.close()
  expect([status, attempted]).toEqual([200, attempts])
})

const WITH_NAMES = `version: 1
api: { prefix: "" }
database: { managed: false }
auth: { development: { ann: {} } }
models:
  code:
    table: codes
    fields: { id: { type: bigint, primary_key: true }, owner: { type: text }, name: { type: text } }
resources:
  code: { model: code, path: /codes/, bulk: [create], access: [{ to: signed_in, may: all, rows: { owner: $sub, name__ne: none } }] }
`
const CODES = 'create table codes (id bigint generated always as identity primary key, owner text not null, name'
const fine = `create table taken (name text); insert into taken values ('taken');
  create function fine(text) returns boolean language sql as 'select not exists (select from taken where name = $1)'`
// A text that cannot be compressed.
const long = Array.from({ length: 2000 }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7919) % 20_000))).join('')

test.each([
  {
    what: 'the check of a domain',
    sql: `${fine}; create domain named as text check (fine(value)); ${CODES} named not null)`,
    name: 'taken',
    own: 400,
  },
  { what: 'an index', sql: `${CODES} text not null); create index on codes (name)`, name: long, own: 400 },
  {
    what: 'a trigger in C',
    sql: `create extension refint; ${CODES} text not null); create table names (name text primary key); insert into names values ('free'), ('mine');
      create trigger named before insert on codes for each row execute function check_primary_key('name', 'names', 'name')`,
    name: 'taken',
    own: 409,
    needs: 'refint',
  },
])('$what that rejects a value tells nothing', async ({ sql, name, own, needs }) => {
  database = await openTestDatabase('create table apart ()')
  const { rows } = await database.query({ text: `select name::text from pg_available_extensions`, values: [] })
  if (needs === undefined || rows.some(([extension]) => extension === needs)) {
    await runSql(database, sql)
    api = await startApi(WITH_NAMES, { database, checkResponses: false })
    const create = async (...codes: readonly object[]) => {
      const answer = await api.send('POST', '/codes/', codes.length > 1 ? codes : codes[0], {
        authorization: 'Dev ann',
      })
      return answer.status
    }
    const mine = { owner: 'ann', name: 'mine' }
    for (const body of [[], [mine]]) {
      for (const each of [name, 'free']) expect(await create(...body, { owner: 'bob', name: each })).toBe(403)
      expect(await create(...body, { owner: 'ann', name })).toBe(own)
      expect(await create(...body, mine)).toBe(201)
    }
    await api.close()
  }
  await database.close()
})

test('a question about the grants that the database cannot answer is 503', async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(
    database,
    `create unique index one_name on codes (name); insert into codes (owner, name) values ('ann', 'mine')`,
  )
  const query: Database['query'] = async (statement) => {
    if (statement.text.includes('@added') && !statement.text.includes('insert')) throw new Problem('unavailable')
    return database.query(statement)
  }
  const busy = Object.create(database, { query: { value: query } }) as Database
  api = await startApi(YAML, { database: busy, plugin })
  const { status } = await send('POST', '', { owner: 'ann', name: 'mine' })
  await api.close()
  await database.close()
  expect(status).toBe(503)
})
