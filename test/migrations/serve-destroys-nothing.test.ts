import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runCli } from '../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { onProjectDatabase } from '../support/existing.js'
import { describeSchema } from '../support/schema-oracle.js'

let database: TestDatabase | undefined
let project: Project

beforeEach(async () => {
  database = await openOnlyOnServer()
  const size = `${BOOKS_MIGRATION.split('-- down')[0]}alter table books add size int;\ninsert into books (title, size) values ('a', 1);\n`
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: size })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  await project.write('migrations/0002_more.sql', '-- up\ncreate table more (id int);\n')
  await project.write('migrations/0003_less.sql', '-- up\nalter table books drop column size;\n')
})

afterEach(async () => {
  await project.remove()
  await database?.close()
})

const run = (...args: readonly string[]) => runCli(args, { cwd: project.folder, env: envOf(database) })

/** What the database of the project holds, the journal with it. */
const look = () =>
  onProjectDatabase(project, database, async (open) => {
    const journal = await open.query({ text: 'select name from snippetctl_migrations', values: [] })
    return { schema: await describeSchema(open), journal: journal.rows.flat() }
  })

const PENDING = { code: 2, stderr: expect.stringContaining('2 migrations are pending: 0002_more, 0003_less\n') }
const ASKS = {
  code: 3,
  stderr:
    'error: a pending migration destroys data: 0003_less drops the column books.size: 1 value is lost with it\n' +
    '  = help: apply it yourself: snippetctl migrate up --allow-destructive=books.size\n',
}

const ways: Readonly<Record<string, readonly (readonly [args: readonly string[], outcome: object])[]>> = {
  postgres: [
    [[], PENDING],
    [['--migrate'], ASKS],
    [['--migrate', '--workers', '2'], ASKS],
  ],
  // It applies pending migrations by itself.
  embedded: [
    [[], ASKS],
    [['--migrate'], ASKS],
  ],
}

describe('serve with a destructive pending migration', () => {
  test.each(ways[testDatabaseKind()] ?? [])(
    'with %j does not start, names the losses, and applies nothing, not even the safe part',
    async (args, outcome) => {
      const before = await look()
      expect(before.journal).toEqual(['0001_create_books'])
      expect(await run('serve', '--port', '0', ...args)).toMatchObject(outcome)
      expect(await look()).toEqual(before)
    },
  )
})
