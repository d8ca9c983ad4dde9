import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { migrationFolder } from '../../../src/plugins/migration-folder.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runCli } from '../../support/cli.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, makeFolder, specOf, tablesOf } from '../../support/migrations.js'

const TABLE = '-- up\ncreate table books (id int primary key, title text);\n-- down\ndrop table books;\n'
const ROWS = `import type { Connection } from 'snippetctl'
import { titles } from '../titles.js'

export async function up(connection: Connection): Promise<void> {
  for (const [index, title] of titles.entries())
    await connection.query({ text: 'insert into books values ($1, $2)', values: [String(index), title] })
}

export async function down(connection: Connection): Promise<void> {
  await connection.query({ text: 'delete from books', values: [] })
}
`
const TITLES = "export const titles: readonly string[] = ['one', 'two']\n"

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

const titles = async () =>
  (await database.query({ text: 'select title from books order by id', values: [] })).rows.flat()

/** A project with these files in its folder of migrations. */
async function makeMigrations(files: Readonly<Record<string, string>>) {
  const root = await makeFolder({ 'titles.ts': TITLES })
  const path = join(root.path, 'migrations')
  await mkdir(path)
  const write = (name: string, text: string) => writeFile(join(path, name), text)
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return { root, folder: migrationFolder(path), write }
}

const states = async (folder: ReturnType<typeof migrationFolder>) =>
  (await migrationStatus(database, folder)).map(({ name, state }) => `${name} ${state}`)

describe('a migration in TypeScript', () => {
  test('is applied, recorded and reverted like SQL, with the files that it imports', async () => {
    const { folder } = await makeMigrations({ '0001_books.sql': TABLE, '0002_rows.ts': ROWS })
    expect((await migrateUp(database, folder)).map(({ name }) => name)).toEqual(['0001_books', '0002_rows'])
    expect(await titles()).toEqual(['one', 'two'])
    expect(await migrateUp(database, folder)).toEqual([])
    expect(await failureOf(migrateDown(database, folder))).toBe(
      '0002_rows deletes from the table books: 2 rows may be lost',
    )
    expect(await titles()).toEqual(['one', 'two'])
    const allows = (name: string) => name === 'books'
    expect(await migrateDown(database, folder, { allows })).toMatchObject([{ name: '0002_rows' }])
    expect(await titles()).toEqual([])
    expect(await states(folder)).toEqual(['0001_books applied', '0002_rows pending'])
  })

  test('that was changed since it was applied is rejected', async () => {
    const { folder, write } = await makeMigrations({ '0001_books.sql': TABLE, '0002_rows.ts': ROWS })
    await migrateUp(database, folder)
    await write('0002_rows.ts', `${ROWS}// more\n`)
    expect(await states(folder)).toEqual(['0001_books applied', '0002_rows changed'])
    expect(await failureOf(migrateUp(database, folder))).toContain('was changed on disk since it was applied')
  })

  test('is replayed in plans like any other', async () => {
    const models = { book: { table: 'books', fields: { id: { type: 'bigint', primary_key: true } } } }
    const code = `export const up = (db: any) => db.query({ text: 'create table books (id bigint generated always as identity, constraint books_pkey primary key (id))', values: [] })\n`
    const { folder } = await makeMigrations({ '0001_books.ts': code })
    expect(await planMigration(specOf(models), folder, database)).toMatchObject({ steps: [], rejections: [], files: 1 })
    expect(await tablesOf(database)).toEqual([])
  })

  test.each<[what: string, code: string, says: RegExp]>([
    [
      'fails in a statement',
      "export const up = async (db: any) => {\n  await db.query({ text: 'delete from books', values: [] })\n  await db.query({ text: 'select nothing', values: [] })\n}\n",
      /^migrations\/0002_bad\.ts:3:\d+: column "nothing" does not exist$/,
    ],
    [
      'throws',
      "interface A { a: 1 }\n\nexport async function up() {\n  throw new Error('no')\n}\n",
      /^migrations\/0002_bad\.ts:4:\d+: no$/,
    ],
    [
      'catches the error of a statement',
      "export const up = async (db: any) => {\n  await db.query({ text: 'select 1/0', values: [] }).catch(() => {})\n}\n",
      /^migrations\/0002_bad\.ts:2:\d+: division by zero$/,
    ],
    [
      'catches the error of a statement, and sends another one',
      "export const up = async (db: any) => {\n  await db.query({ text: 'select 1/0', values: [] }).catch(() => {})\n  await db.query({ text: 'select 1', values: [] })\n}\n",
      /^migrations\/0002_bad\.ts:2:\d+: division by zero$/,
    ],
    [
      'does not await a statement that fails',
      "export const up = async (db: any) => {\n  db.query({ text: 'select 1; select 1/0', values: [] })\n}\n",
      /^migrations\/0002_bad\.ts:2:\d+: division by zero$/,
    ],
    [
      'does not await a statement, and throws',
      "export const up = async (db: any) => {\n  db.query({ text: 'select 1; delete from books', values: [] })\n  throw new Error('no')\n}\n",
      /^migrations\/0002_bad\.ts:3:\d+: no$/,
    ],
    ['does not compile', 'export const up = 1 +\n', /^migrations\/0002_bad\.ts:2:1: Unexpected end of file$/],
    ['has no up', 'export default 1\n', /^migrations\/0002_bad\.ts exports no function `up`$/],
    [
      'ends its transaction',
      "export const up = (db: any) =>\n  db.query({ text: 'commit', values: [] })\n",
      /^migrations\/0002_bad\.ts:2:\d+: `commit` is not allowed here: the migrator begins and ends transactions$/,
    ],
    [
      'ends its transaction in the middle of a query',
      "export const up = (db: any) =>\n  db.query({ text: 'delete from books; /* now */ commit; select 1', values: [] })\n",
      /^migrations\/0002_bad\.ts:2:\d+: `commit` is not allowed here: the migrator begins and ends transactions$/,
    ],
    [
      'passes values to several statements',
      "export const up = (db: any) =>\n  db.query({ text: 'delete from books; select $1', values: ['1'] })\n",
      /^migrations\/0002_bad\.ts:2:\d+: cannot insert multiple commands into a prepared statement$/,
    ],
  ])('that %s is rolled back, and its file and line are reported', async (_what, code, says) => {
    const insert = "-- up\ncreate table books (id int, title text);\ninsert into books values (1, 'kept');\n"
    const { folder, root } = await makeMigrations({ '0001_books.sql': insert, '0002_bad.ts': code })
    expect(await failureOf(migrateUp(database, folder), root)).toMatch(says)
    expect(await titles()).toEqual(['kept'])
    expect(await states(folder)).toEqual(['0001_books applied', '0002_bad pending'])
  })

  test('gets every value as text, so copies are exact', async () => {
    const code = `import type { Connection } from 'snippetctl'

export async function up(connection: Connection): Promise<void> {
  await connection.query({ text: 'create table books (id int primary key, title text)', values: [] })
  const text = "select 1, true, 9007199254740993, timestamptz '2026-03-29 01:30:00.123456+00', interval '1 mon 2 days', array['a', null], " +
    "'{\\"n\\": 12345678901234567890.10}'::jsonb, '\\\\x00ff'::bytea, 0.1::float4, null"
  const { rows } = await connection.query({ text, values: [] })
  for (const [index, value = null] of (rows[0] ?? []).entries())
    await connection.query({ text: 'insert into books values ($1, $2)', values: [String(index), value] })
}
`
    const { folder } = await makeMigrations({ '0001_values.ts': code })
    await migrateUp(database, folder)
    expect(await titles()).toEqual([
      '1',
      't',
      '9007199254740993',
      '2026-03-29 01:30:00.123456+00',
      '1 mon 2 days',
      '{a,NULL}',
      '{"n": 12345678901234567890.10}',
      '\\x00ff',
      '0.1',
      null,
    ])
  })

  test('gets the rows of the last statement of a query', async () => {
    const code =
      "export const up = async (db: any) => {\n  const { rows } = await db.query({ text: 'create table books (title text); select 7', values: [] })\n  await db.query({ text: 'insert into books values ($1)', values: rows[0] })\n}\n"
    const { folder } = await makeMigrations({ '0001_books.ts': code })
    await migrateUp(database, folder)
    expect((await database.query({ text: 'select title from books', values: [] })).rows).toEqual([['7']])
  })

  test('without down cannot be reverted', async () => {
    const { folder, root } = await makeMigrations({ '0001_a.ts': 'export const up = () => {}\n' })
    await migrateUp(database, folder)
    expect(await failureOf(migrateDown(database, folder), root)).toBe(
      'migrations/0001_a.ts exports no function `down`, so it cannot be reverted',
    )
    expect(await states(folder)).toEqual(['0001_a applied'])
  })

  test('that drops a column without naming it is rejected', async () => {
    const drop = `export const up = (db: any) => db.query({ text: 'alter table books drop ti' + 'tle', values: [] })\n`
    const { folder, write } = await makeMigrations({ '0001_books.sql': TABLE })
    await migrateUp(database, folder)
    await write('0002_less.ts', drop)
    expect(await failureOf(migrateUp(database, folder))).toMatch(/^0002_less drops the column books\.title$/)
    expect(await titles()).toEqual([])
  })

  test('may be passed to the command', async () => {
    const rows =
      "export const up = (db: any) => db.query({ text: `insert into books (title) values ('x')`, values: [] })\n"
    const project = await makeProject({
      'resources.yaml': BOOKS,
      [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
      'migrations/0002_rows.ts': rows,
    })
    try {
      const { code, stderr } = await runCli(['migrate', 'up'], { cwd: project.folder })
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/applied {2}0002_rows/) })
    } finally {
      await project.remove()
    }
  })
})
