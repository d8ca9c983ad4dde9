import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { unmanagedTableDifferences } from '../../../src/internal.js'
import { type Introspected, introspect } from '../../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../../support/roles.js'
import { sendBackAll } from '../../support/round-trip.js'

const SQL = `${CREATE_ROLE}  create table salaries (id integer primary key, amount integer);
  create table people (id integer primary key, name text, born date unique, salary integer references salaries);
  create table badges (code text primary key, secret integer);
  create table visits (id serial primary key, person integer references people, badge text references badges);
  create index on visits (person);
  create table notes (id integer primary key, text text);
  create table logs (id integer primary key, text text);
  create schema closed;
  create table closed.files (id integer primary key);
  insert into salaries values (1, 10);
  insert into people values (1, 'Ada', '1815-12-10', 1);
  insert into badges values ('a', 1);
  insert into visits values (7, 1, 'a');
  insert into notes values (1, 'x');
  insert into logs values (1, 'x');
  grant select (id, name, salary) on people to ${ROLE};
  grant select (secret) on badges to ${ROLE};
  grant select, insert, update on visits to ${ROLE};
  grant all on notes, closed.files to ${ROLE};
  grant select, delete on logs to ${ROLE};
`

let folder: string
let database: TestDatabase
let clerk: Database
let found: Introspected
let api: Api

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'privileges-'))
  database = await openTestDatabase('')
  await runSql(database, SQL)
  clerk = await openAsRole(database)
  found = await introspect(clerk, { file: 'resources.yaml', directory: folder, schemas: ['public', 'closed'] })
  api = await startApi(found.text, { database: clerk })
})
afterAll(async () => {
  await api.close()
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

test('a resource has the operations that the privileges of the database user permit', () => {
  expect(Object.fromEntries(found.models.map(({ name, operations }) => [name, operations]))).toEqual({
    badges: ['list'],
    logs: ['list', 'retrieve', 'destroy'],
    notes: ['list', 'create', 'retrieve', 'update', 'partial_update', 'destroy'],
    people: ['list', 'retrieve'],
    visits: ['list', 'retrieve', 'update', 'partial_update'],
  })
})

const UNREADABLE = 'the database user may not read it; once it may: snippetctl introspect --update'

test('tables and columns that the database user may not read are left out and reported', () => {
  const fields = Object.fromEntries(found.models.map((model) => [model.name, model.fields.map(({ name }) => name)]))
  expect(found.isPartial).toBe(true)
  expect(fields).toMatchObject({ badges: ['secret'], people: ['id', 'name', 'salary'] })
  expect(found.left).toEqual(
    expect.arrayContaining([
      `salaries has no model: ${UNREADABLE}`,
      `closed.files has no model: ${UNREADABLE}`,
      `people.born: no field: ${UNREADABLE}`,
      `badges.code: no field: ${UNREADABLE}`,
      'badges: records can only be listed: the primary key cannot be used: the database user may not read code; nothing can be added: no other fields can be the key',
      'logs: not among the operations: create, update, partial_update: the database user may not insert or update; once it may, the resource can have these operations',
      'visits: not among the operations: create, destroy: the database user may not delete and may not use the sequence visits_id_seq; once it may, the resource can have these operations',
    ]),
  )
})

test('the database does not differ from the models in columns that no request writes', async () => {
  expect(await unmanagedTableDifferences(specOf(found.text), clerk)).toEqual([])
})

test('every list responds, and records that are sent back are accepted', async () => {
  for (const { name } of found.models) expect(await sendBackAll(api, `/api/${name}/`)).toHaveLength(1)
  expect((await api.send('POST', '/api/notes/', { id: 2, text: 'y' })).status).toBe(201)
  expect((await api.fetch('/api/logs/1/', { method: 'DELETE' })).status).toBe(204)
})

test('views that read with the privileges of their user are left out if it may not read their tables', async () => {
  const { rows } = await database.query({ text: 'show server_version_num', values: [] })
  // Older servers have no `security_invoker`.
  if (Number(rows[0]?.[0]) < 150000) return
  await runSql(
    database,
    `reset role;
     create view wages with (security_invoker) as select amount from salaries;
     create view wages_of_all as select amount * 2 as amount from wages;
     create view paid with (security_invoker = on) as select count(*) from salaries;
     create view names with (security_invoker) as select name from people;
     create view births with (security_invoker) as select born from people;
     create view births_of_owner with (security_invoker = off) as select born from people;
     grant select on wages, wages_of_all, paid, names, births, births_of_owner to ${ROLE}`,
  )
  if (clerk === database) await openAsRole(database)
  const { models, left } = await introspect(clerk, { file: 'resources.yaml', directory: folder, schemas: ['public'] })
  const views = models.filter(({ isView }) => isView)
  expect(views.map(({ name }) => name)).toEqual(['births_of_owner', 'names'])
  const read = (view: string) => clerk.query({ text: `select from ${view}`, values: [] })
  for (const { name } of views) expect(await read(name)).toMatchObject({ rows: [[]] })
  for (const view of ['wages', 'wages_of_all', 'paid', 'births']) {
    expect(left).toContain(`${view} has no model: ${UNREADABLE}`)
    await expect(read(view)).rejects.toThrow()
  }
})

test('views that call functions that the database user may not call are left out', async () => {
  await runSql(
    database,
    `reset role;
     create function secret() returns integer language sql as 'select 1';
     create function open() returns integer language sql as 'select 1';
     revoke execute on function secret() from public;
     create view secrets as select id, secret() as value from people;
     create view open_secrets as select value, open() as other from secrets;
     create view opens as select open() as value from people;
     grant select on secrets, open_secrets, opens to ${ROLE}`,
  )
  if (clerk === database) await openAsRole(database)
  const { models, left } = await introspect(clerk, { file: 'resources.yaml', directory: folder, schemas: ['public'] })
  const names = models.filter(({ isView }) => isView).map(({ name }) => name)
  expect(names).toContain('opens')
  for (const view of ['secrets', 'open_secrets']) {
    expect(names).not.toContain(view)
    expect(left).toContain(`${view} has no model: ${UNREADABLE}`)
    await expect(clerk.query({ text: `select value from ${view}`, values: [] })).rejects.toThrow()
  }
  expect((await clerk.query({ text: 'select value from opens', values: [] })).rows).toEqual([['1']])
})

test('an update keeps the fields whose columns the database user may no longer read', async () => {
  const text = found.text.replace('    name:', '    born:   { type: date, unique: true, nullable: true }\n      name:')
  expect(text).not.toBe(found.text)
  const updated = await introspect(clerk, { file: 'resources.yaml', directory: folder, text, update: true })
  expect(updated.changes).toEqual([])
})
