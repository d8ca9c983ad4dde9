import { once } from 'node:events'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../../src/db/open.js'
import { readMigrations } from '../../../src/migrations/files/files.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { BOOKS as BOOKS_YAML, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runCli } from '../../support/cli.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { failureOf, type Folder, makeFolder, specOf } from '../../support/migrations.js'
import { buildMigrator, killNow, startMigrator, until } from '../../support/migrators.js'

const BOOKS = `-- up
create table books (id int, title text);
insert into books select n, 'title ' || n from generate_series(1, 500) n;
-- down
drop table books;
`
const INDEX = `-- up
create index concurrently "books_title_idx" on "books" ("title");
-- down
drop index concurrently "books_title_idx";
`
const FILES = { '0001_books.sql': BOOKS, '0002_index.sql': INDEX }

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

const sql = async (text: string) => (await database.query({ text, values: [] })).rows

/** Each index of the books as `name true` or `name false`, by whether it is read. */
const indexes = async () =>
  (await sql(`select indexrelid::regclass || ' ' || indisvalid from pg_index where indrelid = 'books'::regclass`))
    .flat()
    .sort()

const states = async ({ path }: Folder) => (await migrationStatus(database, path)).map(({ state }) => state)

test('a file that builds an index concurrently is applied and reverted like any other', async () => {
  const folder = await makeFolder(FILES)
  expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0001_books', '0002_index'])
  expect(await indexes()).toEqual(['books_title_idx true'])
  expect(await migrateUp(database, folder.path)).toEqual([])
  expect((await migrateDown(database, folder.path)).map(({ name }) => name)).toEqual(['0002_index'])
  expect(await indexes()).toEqual([])
  expect(await states(folder)).toEqual(['applied', 'pending'])
})

test('an index that cannot be built leaves nothing behind, and the next run succeeds', async () => {
  const folder = await makeFolder({
    ...FILES,
    '0002_index.sql': '-- up\n\ncreate unique index concurrently books_key\n  on books (title);\n',
  })
  await migrateUp(database, (await makeFolder({ '0001_books.sql': BOOKS })).path)
  await sql(`update books set title = 'title 1' where id = 2`)
  expect(await failureOf(migrateUp(database, folder.path), folder)).toBe(
    '0002_index.sql:3: could not create unique index "books_key". Key (title)=(title 1) is duplicated.',
  )
  expect(await indexes()).toEqual([])
  expect(await states(folder)).toEqual(['applied', 'pending'])
  await sql('delete from books where id = 2')
  expect(await migrateUp(database, folder.path)).toMatchObject([{ name: '0002_index' }])
  expect(await indexes()).toEqual(['books_key true'])
})

test.each<[what: string, up: string, down: string, error: string]>([
  [
    'another statement next to it',
    'create index concurrently a on books (id);\nselect 1;',
    '',
    '0001_a.sql:3: this statement cannot be in a file with `concurrently`, which runs outside of transactions: write a separate migration for the indexes',
  ],
  [
    'another statement in the down part',
    'select 1;',
    'select 1;\ndrop index concurrently a;',
    '0001_a.sql:4: this statement cannot be in a file with `concurrently`, which runs outside of transactions: write a separate migration for the indexes',
  ],
  [
    'an index without a name',
    'create index concurrently on books (id);',
    '',
    '0001_a.sql:2: `concurrently` needs the name of one index, by which it is found again after an interruption',
  ],
])('a file is rejected for %s', async (_what, up, down, error) => {
  const folder = await makeFolder({ '0001_a.sql': `-- up\n${up}\n-- down\n${down}\n` })
  expect(await failureOf(readMigrations(folder.path), folder)).toBe(error)
})

describe('a plan whose indexes are built concurrently', () => {
  const fields = { id: { type: 'bigint', primary_key: true }, title: { type: 'text' } }
  const before = { book: { table: 'books', fields } }
  const size = { size: { type: 'integer', nullable: true } }
  const both = { book: { table: 'books', fields: { ...fields, ...size }, indexes: [['size'], ['title', 'id']] } }
  const only = { book: { table: 'books', fields, indexes: [['title', 'id']] } }

  test.each<[what: string, to: typeof only, files: readonly string[]]>([
    ['one file for a column and one for indexes', both, ['0001_create_books', '0002_more', '0003_more_online']],
    ['one file for only an index', only, ['0001_create_books', '0002_more']],
  ])('creates %s, after which there is nothing to do', async (_what, to, names) => {
    const folder = await makeFolder()
    await writeMigration(await planMigration(specOf(before), folder.path, database), folder.path)
    const planned = await planMigration(specOf(to), folder.path, database, {
      findLarge: async (tables) => new Set(tables),
    })
    await writeMigration(planned, folder.path, 'more')
    expect((await folder.names()).map((name) => name.slice(0, -4))).toEqual(names)
    expect(await planMigration(specOf(to), folder.path, database)).toMatchObject({ steps: [], rejections: [] })
    await migrateUp(database, folder.path)
    expect(await schemaDifferences(specOf(to), database)).toEqual([])
    expect(await indexes()).toContain('books_title_id_idx true')
    await migrateDown(database, folder.path, { steps: names.length - 1, allows: () => true })
    expect(await indexes()).toEqual(['books_pkey true'])
  })

  test('is shown, written and not measured by the command', async () => {
    const yaml = BOOKS_YAML.replace('\nresources:', '\n    indexes: [[title]]\nresources:')
    const project = await makeProject({ 'resources.yaml': yaml, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
    try {
      const args = ['migrate', 'plan', '--concurrently', '--measure', '--write', 'titles']
      const { stdout, stderr, code } = await runCli(args, { cwd: project.folder })
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^wrote migrations.0002_titles/),
      })
      expect(stdout).toContain('is built while others write, outside of a transaction')
      expect(stdout).toContain('books.books_title_idx  not measured, because it cannot be rolled back')
      expect(await runCli(['migrate', 'up'], { cwd: project.folder })).toMatchObject({ code: 0 })
    } finally {
      await project.remove()
    }
  })
})

// The embedded database has one connection, and builds the index within the transaction.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('on a server with concurrent writes', () => {
  let program: string
  let folder: Folder

  beforeAll(async () => {
    program = await buildMigrator()
  })

  beforeEach(async () => {
    folder = await makeFolder(FILES)
    await migrateUp(database, (await makeFolder({ '0001_books.sql': BOOKS })).path)
  })

  /** Does work while a transaction has written into the books, for whose end every building of an index waits. */
  async function whileWriting(work: () => Promise<void>): Promise<void> {
    const writer = await openDatabase({ url: database.url, directory: '' }, {})
    try {
      await writer.transaction(
        async (connection) => {
          await connection.query({ text: 'insert into books values (0)', values: [] })
          await work()
        },
        { unlimited: true },
      )
    } finally {
      await writer.close()
    }
  }

  const isHalf = `exists (select from pg_index where not indisvalid)`
  const isQuiet = `not exists (select from pg_stat_activity where pid <> pg_backend_pid()
    and datname = current_database() and query like 'create index%' and state = 'active')`

  test('a killed migrator leaves the journal unchanged, and the next run rebuilds the index', async () => {
    await whileWriting(async () => {
      const child = startMigrator(program, database.url ?? '', folder.path)
      await until(database, isHalf)
      await killNow(child)
      await until(database, isQuiet)
    })
    expect(await indexes()).toEqual(['books_title_idx false'])
    expect(await states(folder)).toEqual(['applied', 'pending'])
    expect(await migrateUp(database, folder.path)).toMatchObject([{ name: '0002_index' }])
    expect(await indexes()).toEqual(['books_title_idx true'])
    expect(await states(folder)).toEqual(['applied', 'applied'])
  })

  test('the index is recorded once when several migrators run', async () => {
    const children: ReturnType<typeof startMigrator>[] = []
    const start = () => children.push(startMigrator(program, database.url ?? '', folder.path))
    await whileWriting(async () => {
      start()
      await until(database, isHalf)
      start()
      start()
      await until(
        database,
        `2 = (select count(*) from pg_stat_activity where datname = current_database() and query ~ '^select pg_try_advisory')`,
      )
    })
    const ends = await Promise.all(children.map(async (child) => child.exitCode ?? (await once(child, 'exit'))[0]))
    expect(ends).toEqual([0, 0, 0])
    expect(await indexes()).toEqual(['books_title_idx true'])
    expect(await states(folder)).toEqual(['applied', 'applied'])
  })

  test.each([
    ['', '"books"'],
    [' of a table with a schema', 'public . books'],
  ])('an index%s that was finished but not recorded is not built again', async (_what, table) => {
    await folder.write('0002_index.sql', `-- up\ncreate index concurrently "books_title_idx" on ${table} ("title");\n`)
    await sql('create index books_title_idx on books (title)')
    const [[before] = []] = await sql(`select 'books_title_idx'::regclass::oid`)
    await migrateUp(database, folder.path)
    expect(await sql(`select 'books_title_idx'::regclass::oid`)).toEqual([[before]])
    expect(await states(folder)).toEqual(['applied', 'applied'])
  })

  test('a finished index is not built again where temporary tables are looked for last', async () => {
    await sql('create index books_title_idx on books (title)')
    await sql(
      `do $$ begin execute format('alter database %I set search_path = public, pg_temp', current_database()); end $$`,
    )
    const later = await openDatabase({ url: database.url, directory: '' }, {})
    try {
      expect(await migrateUp(later, folder.path)).toMatchObject([{ name: '0002_index' }])
    } finally {
      await later.close()
    }
    expect(await states(folder)).toEqual(['applied', 'applied'])
  })

  test('another index of a table outside the search path is not taken for the one of the file', async () => {
    await sql('create schema app; create table app.books (id int, title text); create index i on app.books (title)')
    await folder.write('0002_index.sql', '-- up\ncreate unique index concurrently i on app.books (title);\n')
    expect(await failureOf(migrateUp(database, folder.path), folder)).toBe(
      '0002_index.sql:2: relation "i" already exists',
    )
    await folder.write('0002_index.sql', '-- up\ncreate index concurrently i on app.books (title);\n')
    expect(await migrateUp(database, folder.path)).toMatchObject([{ name: '0002_index' }])
  })

  test('a different index of the same name is not touched', async () => {
    await sql('create index books_title_idx on books (id)')
    expect(await failureOf(migrateUp(database, folder.path), folder)).toBe(
      '0002_index.sql:2: relation "books_title_idx" already exists',
    )
    expect(await indexes()).toEqual(['books_title_idx true'])
    expect(await states(folder)).toEqual(['applied', 'pending'])
  })

  test('the timeouts of the connection are restored', async () => {
    const limits = `select current_setting('statement_timeout'), current_setting('lock_timeout')`
    const narrow = await openDatabase({ url: database.url, directory: '' }, { DATABASE_POOL: '1' })
    try {
      const before = await narrow.query({ text: limits, values: [] })
      await migrateUp(narrow, folder.path)
      expect((await narrow.query({ text: limits, values: [] })).rows).toEqual(before.rows)
    } finally {
      await narrow.close()
    }
  })
})
