import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { migrateUp } from '../../src/migrations/run/run.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'
import { CREATE_ROLE, openAsRole, ROLE } from '../support/roles.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 20 }
resources:
  book: { model: book, path: /books/ }
`

/** A function that leaves a table on its connection, which has the name of a served table. */
const FUNCTION = `create function hide_books() returns void language plpgsql as $$ begin
  create table pg_temp.books (like public.books including all);
  create domain pg_temp.text as pg_catalog.text check (value <> 'First');
end $$`

const plugin: Plugin = (app) => {
  app.route('POST', '/hide/', 'hide', async ({ transaction }) => {
    const { rows } = await transaction(async ({ knex }) => {
      await knex.raw('select hide_books()')
      await knex('books').insert({ title: 'First' })
      return knex.raw("select to_regclass('pg_temp.books')::text hidden, current_setting('search_path') path")
    })
    return { status: 200, body: rows[0] }
  })
}

/** A search path with temporary tables at its end. */
const LAST = expect.stringMatching(/public, pg_temp$/)

let database: TestDatabase
let api: Api

beforeAll(async () => {
  database = await openTestDatabase(`${ddlOf(specOf(YAML))};\n${FUNCTION}`)
  api = await startApi(YAML, { database, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

async function cellOf(text: string): Promise<unknown> {
  return (await database.query({ text, values: [] })).rows[0]?.[0]
}

test('a temporary table that a function leaves on a connection does not take the place of a served table', async () => {
  const hidden = await api.fetch('/hide/', { method: 'POST' })
  expect([hidden.status, await hidden.json()]).toEqual([
    200,
    { hidden: expect.stringMatching(/^pg_temp_/), path: LAST },
  ])
  const headers = { 'content-type': 'application/json' }
  for (let times = 0; times < 20; times++) {
    const created = await api.fetch('/books/', { method: 'POST', headers, body: '{"title":"First"}' })
    expect(created.status).toBe(201)
  }
  expect(await cellOf('select count(*) from public.books')).toBe('21')
})

test('a migration finds temporary tables first, as in other programs', async () => {
  const folder = await makeFolder({
    '0001_notes.sql': '-- up\ncreate table notes (id int);\ninsert into notes values (1);\n',
    '0002_copy.sql':
      '-- up\nset search_path = public;\ncreate temporary table notes (id int) on commit drop;\ninsert into notes values (2);\n',
    '0003_copy.sql': '-- up\ncreate temporary table notes (id int) on commit drop;\ninsert into notes values (3);\n',
    '0004_index.sql': '-- up\n-- transaction: none\ncreate index concurrently notes_by_id on notes (id);\n',
  })
  const empty = await openTestDatabase()
  await migrateUp(empty, folder.path)
  const { rows } = await empty.query({ text: "select id, current_setting('search_path') from notes", values: [] })
  await empty.close()
  expect(rows).toEqual([['1', LAST]])
})

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

onServer(
  'nor does one that a function with the rights of its owner leaves to a role that may not make temporary tables',
  async () => {
    const owner = await openTestDatabase(`create table books (title text);
    create function hide_books() returns void language plpgsql security definer as $$ begin
      create table pg_temp.books (like public.books);
      grant all on pg_temp.books to public;
    end $$;`)
    const { pathname } = new URL(owner.url ?? '')
    const rights = `grant all on books to ${ROLE}; revoke temporary on database "${pathname.slice(1)}" from public`
    await owner.query({ text: `do $$ begin ${CREATE_ROLE.replace(/;\s*$/, '')}; ${rights}; end $$`, values: [] })
    const limited = await openAsRole(owner)
    try {
      await limited.transaction(async (connection) => {
        await connection.query({ text: 'select hide_books()', values: [] })
        await connection.query({ text: `insert into books values ('First')`, values: [] })
      })
      const count = await owner.query({ text: 'select count(*) from public.books', values: [] })
      expect(count.rows).toEqual([['1']])
    } finally {
      await limited.close()
      await owner.query({ text: `drop owned by ${ROLE}`, values: [] })
      await owner.query({ text: `drop role ${ROLE}`, values: [] })
      await owner.close()
    }
  },
)
