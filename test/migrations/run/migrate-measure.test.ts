import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { measureMigration } from '../../../src/migrations/run/measure.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost } from '../../support/cli.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder } from '../../support/migrations.js'
import { describeSchema } from '../../support/schema-oracle.js'

let database: TestDatabase
let scratch: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  scratch = await openTestDatabase()
})

afterEach(async () => {
  await database.close()
  await scratch.close()
})

test.each<[what: string, from: string, to: string, seen: object]>([
  [
    'a longer text',
    'max: 100 }',
    'max: 200 }',
    { locks: [{ table: 'books', mode: 'AccessExclusiveLock' }], rewritten: [] },
  ],
  ['a shorter text', 'max: 100 }', 'max: 60 }', { rewritten: ['books'], failure: undefined }],
  ['a new column', 'max: 100 }', 'max: 100 }\n      size: { type: integer, nullable: true }', { rewritten: [] }],
  [
    'an index',
    '\nresources:',
    '\n    indexes: [[title]]\nresources:',
    { locks: [{ table: 'books', mode: 'ShareLock' }] },
  ],
  ['a rule that a row violates', 'min: 1', 'min: 5', { failure: expect.stringMatching(/books_title_length/) }],
])("measuring reports a step's locks, and rolls back: %s", async (_what, from, to, seen) => {
  const folder = await makeFolder({ '0001_create_books.sql': BOOKS_MIGRATION })
  await migrateUp(database, folder.path)
  await database.query({ text: `insert into books (title) values ('abc')`, values: [] })
  const before = await describeSchema(database)
  const planned = await planMigration(specOf(BOOKS.replace(from, to)), folder.path, scratch)
  const measured = await measureMigration(database, folder.path, planned)
  expect(measured.at(-1)).toMatchObject(seen)
  expect(await describeSchema(database)).toBe(before)
})

test('a concurrent index in a pending file is not tested where that is impossible', async () => {
  const folder = await makeFolder({ '0001_create_books.sql': BOOKS_MIGRATION })
  await migrateUp(database, folder.path)
  await folder.write('0002_index.sql', '-- up\ncreate index concurrently by_title on books (title);\n')
  const locks = database.concurrent ? [] : [{ table: 'books', mode: 'ShareLock' }]
  expect(await measureMigration(database, folder.path, { steps: [] })).toMatchObject([
    { subject: '0002_index', outside: database.concurrent, locks, failure: undefined },
  ])
})

test('the command measures on a copy, including pending files', async () => {
  const yaml = BOOKS.replace('max: 100 }', 'max: 200 }')
  const project = await makeProject({ 'resources.yaml': yaml, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    await runInHost(['migrate', 'up'], { cwd: project.folder })
    await project.write(
      'migrations/0002_note.sql',
      '-- up\nalter table books add constraint positive check (id > 0);\n',
    )
    const { code, stdout } = await runInHost(['migrate', 'plan', '--measure'], { cwd: project.folder })
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /measured on a copy of the embedded database, and rolled back:[^]*\n {2}0002_note +\d+ ms +books: AccessExclusiveLock, reads and writes wait +reads books\n {2}books\.title +\d+ ms +books: AccessExclusiveLock since 0002_note, reads and writes wait +reads books\n$/,
    )
    await project.write('resources.yaml', BOOKS.replace('min: 1,', 'min: 99,'))
    await project.write('migrations/0002_note.sql', "-- up\ninsert into books (title) values ('abc');\n")
    expect(await runInHost(['migrate', 'plan', '--measure'], { cwd: project.folder })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('failed: '),
      stderr: expect.stringMatching(/^error: a step failed, so those after it were not measured: .*books_title_length/),
    })
    const reset = (...args: string[]) => runInHost(['db', 'reset', ...args], { cwd: project.folder })
    expect(await reset()).toMatchObject({ code: 3, stderr: expect.stringContaining('--name .snippetctl/pg') })
    expect(await reset('--name', 'other')).toMatchObject({ code: 3 })
    expect(await reset('--name', '.snippetctl/pg')).toMatchObject({ code: 0 })
    expect(await runInHost(['migrate', 'status'], { cwd: project.folder })).toMatchObject({
      stdout: expect.stringMatching(/pending +0001_create_books/),
    })
  } finally {
    await project.remove()
  }
})
