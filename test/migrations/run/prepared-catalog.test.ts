import { expect, test } from '@jest/globals'
import type { Connection } from '../../../src/db/database.js'
import { openDatabase, openScratch } from '../../../src/db/open.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { openTestDatabase, testDatabaseKind } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

const id = { type: 'bigint', primary_key: true }
const SPEC = specOf({ book: { table: 'books', fields: { id, title: { type: 'string', min: 1, max: 100 } } } })

async function preparedIn(connection: Connection): Promise<readonly (readonly (string | null)[])[]> {
  const text = 'select name, generic_plans > 1, custom_plans from pg_prepared_statements order by name'
  return (await connection.query({ text, values: [] })).rows
}

test('an embedded database plans the queries of its catalogue once for each schema', async () => {
  const scratch = await openScratch()
  try {
    await planMigration(SPEC, (await makeFolder()).path, scratch)
    expect(await preparedIn(scratch)).toEqual([
      ['catalog of made_by_files', 't', '0'],
      ['catalog of pg_temp_0', 't', '0'],
      ['catalog of wanted', 'f', '0'],
      ['views of made_by_files', 't', '0'],
      ['views of wanted', 'f', '0'],
    ])
  } finally {
    await scratch.close()
  }
})

const IN_FUNCTION = `create function f() returns void language plpgsql as $$ begin execute 'dealloc' || 'ate all'; end $$`

test.each(['deallocate all', "do $$ begin execute 'dealloc' || 'ate all'; end $$", `${IN_FUNCTION};\nselect f()`])(
  'a file may deallocate the prepared statements: %s',
  async (statements) => {
    const scratch = await openScratch()
    try {
      const folder = (await makeFolder({ '0001_first.sql': '-- up\ncreate table pages (id int);\n' })).path
      await planMigration(SPEC, folder, scratch)
      const other = (await makeFolder({ '0001_first.sql': `-- up\n${statements};\n` })).path
      for (const _plan of [1, 2]) {
        expect((await planMigration(SPEC, other, scratch)).text).toContain('create table "books"')
      }
    } finally {
      await scratch.close()
    }
  },
)

test('a new embedded database has the schema of temporary tables, whose creation would discard all plans', async () => {
  const scratch = await openScratch()
  try {
    const text = "select nspname from pg_namespace where nspname like 'pg\\_temp\\_%'"
    expect((await scratch.query({ text, values: [] })).rows).toEqual([['pg_temp_0']])
  } finally {
    await scratch.close()
  }
})

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
onServer('a server prepares nothing, because a pooler may be in between', async () => {
  const database = await openTestDatabase()
  const scratch = await openDatabase({ url: database.url, directory: '' }, { DATABASE_POOL: '1' })
  try {
    const { text } = await planMigration(SPEC, (await makeFolder()).path, scratch)
    expect(text).toContain('create table "books"')
    expect(await preparedIn(scratch)).toEqual([])
  } finally {
    await scratch.close()
    await database.close()
  }
})
