import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  startServe,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'

const SIZE = '-- up\nalter table books add size integer;\n-- down\nalter table books drop size;\n'
const LATER = 'migrations/0002_size.sql'

let project: Project
let database: TestDatabase | undefined

beforeEach(async () => {
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION, [LATER]: SIZE })
  database = await openOnlyOnServer()
  await run('migrate', 'up')
  // From here on this is the version before.
  await rm(join(project.folder, LATER))
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const options = () => ({ cwd: project.folder, env: envOf(database) })

const run = (...args: readonly string[]) => runInHost(args, options())

const given = (sql: string) => onProjectDatabase(project, database, (connection) => runSql(connection, sql))

describe('a version of the project that is older than its database', () => {
  test('serves if everything that it uses exists, and logs a warning', async () => {
    const serving = await startServe([], options())
    try {
      const created = await fetch(`${serving.url}/api/books/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"title":"a"}',
      })
      expect(created.status).toBe(201)
      expect(serving.output.stdout).toContain(
        'a later version of the project has applied 0002_size; the schema still serves this version',
      )
    } finally {
      await serving.stop()
    }
  })

  test('is sound for `doctor`, until something that it uses is missing', async () => {
    const schema = async () => {
      const { stdout } = await run('doctor', '--json')
      return (JSON.parse(stdout) as { readonly checks: readonly { readonly check: string }[] }).checks.find(
        ({ check }) => check === 'schema',
      )
    }
    expect(await schema()).toMatchObject({ state: 'ok', message: '2 migrations applied' })
    await given('alter table books drop title')
    expect(await schema()).toMatchObject({ state: 'fail', message: expect.stringContaining('books.title') })
  })

  test('does not serve if a column is required', async () => {
    await given('alter table books add place text not null')
    expect(await run('serve', '--port', '0')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /0002_size was applied by a later version of the project, and its schema does not fit this version: column books\.place/,
      ),
    })
  })

  test('has nothing to apply, reverts nothing, writes nothing, and is valid', async () => {
    expect(await run('migrate', 'up')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('a later version of the project has applied 0002_size as well'),
    })
    expect(await run('migrate', 'down')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0002_size was applied by a later version of the project'),
    })
    expect((await run('check', '--database')).stdout).toContain(
      '\ndatabase: 0002_size was applied by a later version of the project, so nothing was compared\n',
    )
    const { code, stdout } = await run('migrate', 'status')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/\nnewer +0002_size .* of a later version/),
    })
    await writeFile(
      join(project.folder, 'resources.yaml'),
      BOOKS.replace('max: 100 }', 'max: 100 }\n      more: { type: text, nullable: true }'),
    )
    expect(await run('migrate', 'plan', '--write', 'more')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing was written: the next migration would come after 0002_size'),
    })
  })

  test('names all later migrations in one sentence', async () => {
    const later = 'migrations/0003_more.sql'
    await project.write(LATER, SIZE)
    await project.write(later, '-- up\nselect 1;\n')
    await run('migrate', 'up')
    for (const file of [LATER, later]) await rm(join(project.folder, file))
    expect(await run('migrate', 'down')).toMatchObject({
      code: 2,
      stderr: `error: 0002_size, 0003_more were applied by a later version of the project, so this version cannot revert earlier migrations
  = help: Run the version of the project that has the files
`,
    })
  })

  test('is rejected if the missing file precedes its own', async () => {
    await writeFile(join(project.folder, 'migrations/0002_other.sql'), '-- up\nselect 1;\n')
    expect(await run('migrate', 'up')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('0002_size was applied to this database, and its file is missing'),
    })
  })
})
