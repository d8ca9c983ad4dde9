import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, type Folder, makeFolder, tablesOf } from '../../support/migrations.js'

const BOOKS = '-- up\ncreate table books (id int primary key, title text);\n-- down\ndrop table books;\n'
const AUTHORS = '-- up\ncreate table authors (id int);\n-- down\ndrop table authors;\n'
const BOTH = { '0001_books.sql': BOOKS, '0002_authors.sql': AUTHORS }

/** Whatever is lost was made by the test itself. */
const ALL = { allows: () => true }

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

async function statesOf(folder: Folder): Promise<readonly string[]> {
  return (await migrationStatus(database, folder.path)).map(({ name, state }) => `${name} ${state}`)
}

async function cells(text: string) {
  return (await database.query({ text, values: [] })).rows.flat()
}

describe('up', () => {
  test('applies pending files in order, once', async () => {
    const folder = await makeFolder(BOTH)
    const reported: string[] = []
    const done = await migrateUp(database, folder.path, { report: ({ name }) => reported.push(name) })
    expect(done.map(({ name }) => name)).toEqual(['0001_books', '0002_authors'])
    expect(reported).toEqual(['0001_books', '0002_authors'])
    expect(await tablesOf(database)).toEqual(['authors', 'books'])
    expect(await migrateUp(database, folder.path)).toEqual([])
  })

  test('applies each migration once when two migrators run at the same time', async () => {
    const folder = await makeFolder({ ...BOTH, '0003_more.sql': '-- up\ncreate table more (id int);\n' })
    const [one, two] = await Promise.all([migrateUp(database, folder.path), migrateUp(database, folder.path)])
    expect([...one, ...two].map(({ name }) => name).sort()).toEqual(['0001_books', '0002_authors', '0003_more'])
    expect(await statesOf(folder)).toEqual(['0001_books applied', '0002_authors applied', '0003_more applied'])
  })

  test('rolls a failed migration back and runs none after it', async () => {
    const folder = await makeFolder({
      '0001_books.sql': BOOKS,
      '0002_bad.sql': '-- up\n\ncreate table half (id int);\n\ncreate table bad (\n  id int,\n  x nonsense\n);\n',
      '0003_authors.sql': AUTHORS,
    })
    expect(await failureOf(migrateUp(database, folder.path), folder)).toBe(
      '0002_bad.sql:7: type "nonsense" does not exist',
    )
    expect(await tablesOf(database)).toEqual(['books'])
    expect(await statesOf(folder)).toEqual(['0001_books applied', '0002_bad pending', '0003_authors pending'])
    await folder.write('0002_bad.sql', '-- up\ncreate table good (id int);\n')
    await migrateUp(database, folder.path)
    expect(await tablesOf(database)).toEqual(['authors', 'books', 'good'])
  })

  test('names the statement that failed on existing values', async () => {
    const folder = await makeFolder({
      '0001_books.sql': BOOKS,
      '0002_rows.sql':
        "-- up\n-- two rows\ninsert into books values (1, ';');\ninsert into books\n  values (1, 'b');\n",
    })
    const failure = await failureOf(migrateUp(database, folder.path), folder)
    expect(failure).toBe(
      '0002_rows.sql:4: duplicate key value violates unique constraint "books_pkey". Key (id)=(1) already exists.',
    )
  })

  test('sends the SQL as it is written', async () => {
    const odd = "E'a\\\\?b \\? ?'"
    const body = `create function one() returns text language sql begin atomic select case when true then 'x;' end; end`
    const folder = await makeFolder({
      '0001_odd.sql': `-- up\ncreate table books (title text default ${odd}); /* ; */ ${body};\ninsert into books default values;\n`,
    })
    await migrateUp(database, folder.path)
    expect(await cells('select title, one() from books')).toEqual(['a\\?b ? ?', 'x;'])
  })

  test.each([
    "set search_path = nowhere; set statement_timeout = '77s'; select set_config('lock_timeout', '0', false);",
    'reset statement_timeout; reset timezone;',
    'reset all;',
    'set role pg_monitor;',
    'set session authorization pg_monitor; set role none;',
  ])("does not change the connection's settings by `%s`", async (sql) => {
    const settings = `select current_user, session_user, current_setting('search_path'), current_setting('statement_timeout'),
      current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'), current_setting('intervalstyle')`
    const before = await cells(settings)
    const folder = await makeFolder({ '0001_dump.sql': `-- up\n${sql}\n`, '0002_books.sql': BOOKS })
    await migrateUp(database, folder.path)
    for (let session = 0; session < 3; session++) expect(await cells(settings)).toEqual(before)
    expect(await tablesOf(database)).toEqual(['books'])
  })

  test('waits for a lock until PostgreSQL has cancelled an autovacuum that holds it', async () => {
    const waits = `current_setting('lock_timeout')::interval - current_setting('deadlock_timeout')::interval`
    const folder = await makeFolder({ '0001_waits.sql': `-- up\ncreate table waits as select ${waits} as longer;\n` })
    await migrateUp(database, folder.path)
    expect(await cells('select longer::text from waits')).toEqual(['00:00:00.5'])
  })

  test('writes nothing if there is nothing to apply', async () => {
    const folder = await makeFolder()
    expect(await migrateUp(database, folder.path)).toEqual([])
    expect(await cells("select to_regclass('snippetctl_migrations')::text")).toEqual([null])
  })
})

describe('the journal', () => {
  const changed = 'was changed on disk since it was applied'

  test.each([
    {
      what: 'a changed file',
      write: { '0001_books.sql': `${BOOKS}-- later\n` },
      states: ['0001_books changed', '0002_authors applied'],
      says: `0001_books.sql ${changed}`,
    },
    {
      what: 'a renamed file',
      without: '0002_authors.sql',
      write: { '0002_writers.sql': AUTHORS },
      states: ['0001_books applied', '0002_authors missing', '0002_writers pending'],
      says: '0002_authors was applied to this database, and its file is missing',
    },
  ])('contradicts $what, which both directions reject', async ({ write, without, states, says }) => {
    await migrateUp(database, (await makeFolder(BOTH)).path)
    const rest = Object.fromEntries(Object.entries(BOTH).filter(([name]) => name !== without))
    const folder = await makeFolder({ ...rest, ...write })
    expect(await statesOf(folder)).toEqual(states)
    expect(await failureOf(migrateUp(database, folder.path), folder)).toBe(says)
    expect(await failureOf(migrateDown(database, folder.path, ALL), folder)).toBe(says)
    expect(await tablesOf(database)).toEqual(['authors', 'books'])
  })

  test('accepts a checkout with other line endings', async () => {
    await migrateUp(database, (await makeFolder(BOTH)).path)
    const folder = await makeFolder({ ...BOTH, '0001_books.sql': BOOKS.replaceAll('\n', '\r\n') })
    expect(await statesOf(folder)).toEqual(['0001_books applied', '0002_authors applied'])
  })

  test('shows when a migration was applied, in UTC', async () => {
    const folder = await makeFolder(BOTH)
    expect(await migrationStatus(database, folder.path)).toMatchObject([
      { appliedAt: undefined },
      { appliedAt: undefined },
    ])
    await migrateUp(database, folder.path)
    const [first] = await migrationStatus(database, folder.path)
    expect(Math.abs(Date.parse(first?.appliedAt ?? '') - Date.now())).toBeLessThan(60_000)
    expect(first?.appliedAt).toMatch(/Z$/)
  })
})

describe('down', () => {
  test('reverts the last migration, or the given number', async () => {
    const folder = await makeFolder(BOTH)
    await migrateUp(database, folder.path)
    expect((await migrateDown(database, folder.path, ALL)).map(({ name }) => name)).toEqual(['0002_authors'])
    expect(await statesOf(folder)).toEqual(['0001_books applied', '0002_authors pending'])
    await migrateUp(database, folder.path)
    expect((await migrateDown(database, folder.path, { steps: 5, ...ALL })).map(({ name }) => name)).toEqual([
      '0002_authors',
      '0001_books',
    ])
    expect(await tablesOf(database)).toEqual([])
    expect(await migrateDown(database, folder.path, ALL)).toEqual([])
  })

  test.each([
    [
      'a type',
      `alter table books alter title type integer using title::integer`,
      'invalid input syntax for type integer: "b"',
    ],
    ['a rule', `alter table books add check (title <> 'b')`, 'is violated by some row'],
  ])('and up say that rows can be changed that do not fit %s', async (_what, change, message) => {
    const longer = { '0002_longer.sql': `-- up\ncreate index on books (title);\n-- down\n${change};\n` }
    const folder = await makeFolder({
      '0001_books.sql': '-- up\ncreate table books (id int, title text);\n',
      ...longer,
    })
    await migrateUp(database, folder.path)
    await database.query({ text: `insert into books values (1, 'b')`, values: [] })
    await expect(migrateDown(database, folder.path, ALL)).rejects.toMatchObject({
      errors: [expect.stringContaining(message)],
      help: [
        'If existing rows do not fit the former schema: change these rows, and run `snippetctl migrate down` again',
      ],
    })
    await folder.write('0003_change.sql', `-- up\n${change};\n`)
    await expect(migrateUp(database, folder.path)).rejects.toMatchObject({
      errors: [expect.stringContaining(message)],
      help: ['If existing rows do not fit the migration: change these rows, and run `snippetctl migrate up` again'],
    })
  })

  test.each(['-- up\ncreate table books (id int);\n', '-- up\ncreate table books (id int);\n-- down\n-- nothing\n'])(
    'rejects a file without a down part: %j',
    async (text) => {
      const folder = await makeFolder({ '0001_books.sql': text })
      await migrateUp(database, folder.path)
      const failure = await failureOf(migrateDown(database, folder.path, ALL), folder)
      expect(failure).toBe('0001_books.sql has no down part, so it cannot be reverted')
      expect(await tablesOf(database)).toEqual(['books'])
    },
  )
})
