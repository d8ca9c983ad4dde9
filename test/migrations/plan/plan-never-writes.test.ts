import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { onProjectDatabase, type ProjectDatabase } from '../../support/existing.js'
import { describeSchema } from '../../support/schema-oracle.js'

let database: TestDatabase | undefined
let project: Project

beforeEach(async () => {
  database = await openOnlyOnServer()
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const migrate = (...args: readonly string[]) =>
  runInHost(['migrate', ...args], {
    cwd: project.folder,
    env: envOf(database),
  })

const inside = <T>(work: (database: ProjectDatabase) => Promise<T>) => onProjectDatabase(project, database, work)

const dump = () =>
  inside(async (open) => {
    const rows = await open.query({
      text: 'select id, title, xmin::text, ctid::text from books order by id',
      values: [],
    })
    const journal = await open.query({ text: 'select * from snippetctl_migrations', values: [] })
    return { schema: await describeSchema(open), rows: rows.rows, journal: journal.rows }
  })

test('a database is unchanged to the last row after every kind of plan (promise 10)', async () => {
  await migrate('up')
  const rows = `insert into books (title) values ('short'), ('${'long'.repeat(20)}')`
  await inside((open) => open.query({ text: rows, values: [] }))
  const before = await dump()
  await project.write(
    'resources.yaml',
    BOOKS.replace('max: 100', 'max: 60').replace('title: {', 'pages: { type: integer }\n      title: {'),
  )
  const { code, stdout } = await migrate('plan', '--exit-code')
  expect(code).toBe(1)
  expect(stdout).toContain('fails when a value does not fit: 1 of 2 rows are longer than 60')
  expect(stdout).toContain(
    'books.pages cannot be added, because 2 rows would have no value: give the field a `default`',
  )
  for (const flag of ['--sql', '--json', '--write']) await migrate('plan', flag)
  expect(await dump()).toEqual(before)
})

test('a missing database is not created', async () => {
  await project.write('resources.yaml', BOOKS.replace('max: 100', 'max: 60'))
  const { stdout, stderr } = await runInHost(['migrate', 'plan'], { cwd: project.folder })
  expect({ stdout, stderr }).toEqual({
    stdout: expect.stringContaining(
      'fails when a value does not fit; reads and writes wait while the table is rewritten\n',
    ),
    stderr: '',
  })
  const { stderr: away } = await runInHost(['migrate', 'plan'], {
    cwd: project.folder,
    env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
  })
  expect(away).toMatch(/^rows were not counted: /)
})
