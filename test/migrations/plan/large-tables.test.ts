import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { largeTables } from '../../../src/migrations/plan/steps/online.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import {
  envOf,
  openOnlyOnServer,
  openTestDatabase,
  type TestDatabase,
  testDatabaseKind,
} from '../../support/database.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'

/** @param width the length of the text in each row, in characters */
const tableOf = (name: string, rows: number, width = 1) =>
  `create table ${name} as select n, repeat('x', ${width}) as filler from generate_series(1, ${rows}) n;`

describe('a table is large', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await openTestDatabase('')
  })
  afterEach(() => database.close())

  const run = (text: string) => runSql(database, text)
  const large = async (...tables: readonly string[]) => [...(await largeTables(database, tables))]

  test('from 100,000 rows on, by the statistics of PostgreSQL', async () => {
    await run(`${tableOf('many', 120_000)} ${tableOf('few', 50_000)} analyze many; analyze few;`)
    expect(await large('many', 'few', 'missing')).toEqual([['many', expect.any(Number)]])
    const [[, rows] = []] = await large('many')
    expect(Math.round((rows ?? 0) / 10_000)).toBe(12)
  })

  test('by its size, if it was never analysed', async () => {
    await run(`${tableOf('wide', 12_000, 1_000)} ${tableOf('small', 1_000)}`)
    expect((await large('wide', 'small')).map(([name]) => name)).toEqual(['wide'])
    await run('analyze wide')
    expect(await large('wide')).toEqual([])
  })

  test('by the rows of its partitions', async () => {
    await run('create table parts (n int, filler text) partition by range (n)')
    await run('create table low partition of parts for values from (0) to (60001)')
    await run('create table high partition of parts for values from (60001) to (200000)')
    await run(`insert into parts select n, 'x' from generate_series(1, 120000) n; analyze low; analyze high;`)
    expect((await large('parts', 'low')).map(([name]) => name)).toEqual(['parts'])
  })

  test('by the rows of the tables that inherit from it', async () => {
    await run(
      `${tableOf('parent', 30_000)} create table child () inherits (parent); create table grandchild () inherits (child);`,
    )
    await run(`insert into grandchild select n, 'x' from generate_series(1, 80000) n; analyze;`)
    expect((await large('parent', 'child')).map(([name]) => name)).toEqual(['parent'])
  })

  test('by its name with its schema', async () => {
    await run(`create schema sales; ${tableOf('sales."Order Lines"', 120_000)} ${tableOf('lines', 1)}`)
    await run('analyze sales."Order Lines"; analyze lines;')
    expect((await large('sales.Order Lines', 'lines')).map(([name]) => name)).toEqual(['sales.Order Lines'])
  })
})

describe('a plan for a table of 120,000 rows', () => {
  let project: Project
  let database: TestDatabase | undefined

  beforeAll(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
    database = await openOnlyOnServer()
    await migrate('up')
    await onProjectDatabase(project, database, (open) =>
      runSql(open, `insert into books (title) select 'book ' || n from generate_series(1, 120000) n; analyze books;`),
    )
    await project.write('resources.yaml', BOOKS.replace('max: 100 }', 'max: 100, unique: true }'))
  })

  afterAll(async () => {
    await database?.close()
    await project.remove()
  })

  const migrate = (...args: readonly string[]) =>
    runInHost(['migrate', ...args], { cwd: project.folder, env: envOf(database), keep: true })

  const NOTE =
    /note: books has about 1[12]\d,\d{3} rows: steps that would block its requests are written to a second file/
  const isServer = testDatabaseKind() === 'postgres'
  const OUTSIDE = /create unique index concurrently "books_title_key"/

  test('does not block the requests of a server, where others use it at the same time', async () => {
    const { stderr, stdout } = await migrate('plan', '--sql')
    if (isServer) expect([stderr, stdout]).toEqual([expect.stringMatching(NOTE), expect.stringMatching(OUTSIDE)])
    else expect([stderr, stdout]).toEqual(['', expect.not.stringMatching(OUTSIDE)])
  })

  test('is in one transaction with --no-concurrently, and outside of it with --concurrently, without a look at the rows', async () => {
    const one = await migrate('plan', '--sql', '--no-concurrently')
    expect([one.stderr, one.stdout]).toEqual(['', expect.not.stringMatching(OUTSIDE)])
    const other = await migrate('plan', '--sql', '--concurrently')
    expect([other.stderr, other.stdout]).toEqual(['', expect.stringMatching(OUTSIDE)])
  })

  test('is in one transaction if the database cannot be reached', async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const { stdout } = await runInHost(['migrate', 'plan', '--sql'], { cwd: project.folder, env })
    expect(stdout).toMatch(/add constraint "books_title_key" unique/)
    expect(stdout).not.toMatch(OUTSIDE)
  })
})
