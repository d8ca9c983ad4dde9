import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { runSql } from '../support/existing.js'

const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
auth:
  roles: { names: [reader] }
  user: { model: account, match: subject }
  sets: { mine: { of: note.id, rows: { account: $user } }, named: { of: note.id, rows: { owner: $sub } } }
  development: { ann: {}, ANN: {} }
models:
  account:
    table: accounts
    fields: { id: { type: integer, primary_key: true, key: client }, subject: { type: string, unique: true, collation: nocase } }
  note:
    table: notes
    fields: { id: { type: integer, primary_key: true, key: client }, account: { type: integer }, owner: { type: string, collation: nocase } }
  letter:
    table: letters
    fields: { id: { type: integer, primary_key: true, key: client }, to: { type: belongs_to, model: account, references: subject, column: receiver } }
  club:
    table: clubs
    fields: { id: { type: integer, primary_key: true, key: client }, members: { type: array, items: { type: string, collation: nocase } } }
resources:
  by_relation: { model: letter, path: /by-relation/, access: [{ to: signed_in, may: all, rows: { to: $sub } }] }
  by_user: { model: note, path: /by-user/, access: [{ to: signed_in, may: all, rows: { account: $user } }] }
  by_subject: { model: note, path: /by-subject/, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
  by_set: { model: note, path: /by-set/, access: [{ to: signed_in, may: all, rows: { id__in: $mine } }] }
  by_member: { model: club, path: /by-member/, access: [{ to: signed_in, may: all, rows: { members__has: $sub } }] }
  by_name: { model: note, path: /by-name/, access: [{ to: signed_in, may: all, rows: { id__in: $named } }] }
`

// The embedded database has no collations that ignore case.
const TABLES = `create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create table accounts (id integer primary key, subject text collate nocase not null unique);
  create table notes (id integer primary key, account integer not null, owner text collate nocase not null);
  create table letters (id integer primary key, receiver text collate nocase not null references accounts (subject));
  create table clubs (id integer primary key, members text[] collate nocase not null)`

const isServer = testDatabaseKind() === 'postgres'
let database: TestDatabase
let api: Api
beforeAll(async () => {
  if (!isServer) return
  database = await openTestDatabase(TABLES)
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  if (!isServer) return
  await api.close()
  await database.close()
})
beforeEach(async () => {
  if (isServer) {
    const rows = `truncate accounts, notes, letters, clubs; insert into accounts values (1, 'ann'); insert into notes values (1, 1, 'ann');
      insert into letters values (1, 'ann'); insert into clubs values (1, '{bob,ann}')`
    await runSql(database, rows)
  }
})

const onServer = isServer ? test : test.skip

onServer.each([
  { field: 'relation', path: '/by-relation/', record: { id: 1, to: 'ann' } },
  { field: 'list', path: '/by-member/', record: { id: 1, members: ['bob', 'ann'] } },
])('a subject in other letters is another caller where a $field ignores case', async ({ path, record }) => {
  const seen = async (name: string) => (await api.send('GET', path, undefined, { authorization: `Dev ${name}` })).json()
  expect([await seen('ANN'), await seen('ann')]).toEqual([[], [record]])
})

onServer.each([{ path: '/by-user/' }, { path: '/by-subject/' }, { path: '/by-set/' }, { path: '/by-name/' }])(
  'a subject in other letters is another caller where the database ignores case: $path',
  async ({ path }) => {
    const ask = async (name: string, method: string, to: string, body?: unknown) =>
      (await api.send(method, to, body, { authorization: `Dev ${name}` })).status
    const seen = async (name: string) =>
      (await api.send('GET', path, undefined, { authorization: `Dev ${name}` })).json()
    expect(await seen('ANN')).toEqual([])
    expect(await ask('ANN', 'GET', `${path}1/`)).toBe(404)
    expect(await ask('ANN', 'PATCH', `${path}1/`, { account: 1 })).toBe(404)
    expect(await ask('ANN', 'DELETE', `${path}1/`)).toBe(404)
    expect(await seen('ann')).toEqual([{ id: 1, account: 1, owner: 'ann' }])
    expect(await ask('ann', 'PATCH', `${path}1/`, { account: 1 })).toBe(200)
  },
)
