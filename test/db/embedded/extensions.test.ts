import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { planMigration } from '../../../src/internal.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import { specOf } from '../../support/config.js'
import {
  envOf,
  openOnlyOnServer,
  openTestDatabase,
  type TestDatabase,
  testDatabaseKind,
} from '../../support/database.js'
import { makeFolder } from '../../support/migrations.js'

const SEARCH = `-- up
create extension pg_trgm;
create index books_search on books using gin (title gin_trgm_ops);
-- down
drop index books_search;
drop extension pg_trgm;
`
/** The server has it, and the embedded database has not. */
const UNBUNDLED = '-- up\ncreate extension pgstattuple;\n'

let project: Project
let database: TestDatabase | undefined

beforeEach(async () => {
  project = await makeProject({
    'resources.yaml': BOOKS,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    'migrations/0002_search.sql': SEARCH,
  })
  database = await openOnlyOnServer()
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const migrate = (...args: readonly string[]) =>
  runInHost(['migrate', ...args], { cwd: project.folder, env: envOf(database) })

const write = (name: string, text: string) => writeFile(join(project.folder, 'migrations', name), text)

test('a migration with an extension is applied, compared and planned', async () => {
  expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('0002_search') })
  expect(await migrate('status')).toMatchObject({ code: 0 })
  expect(await migrate('plan', '--exit-code')).toMatchObject({ code: 0 })
  // The index needs the extension in every later process, too.
  await write('0003_rows.sql', `-- up\ninsert into books (title) values ('a title'), ('another');\n`)
  expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('applied  0003_rows') })
})

test('extensions that require others are planned with any scratch database', async () => {
  const scratch = await openTestDatabase()
  try {
    const folder = await makeFolder({
      '0001_create_books.sql': BOOKS_MIGRATION,
      '0002_places.sql': `-- up
        create extension earthdistance cascade;
        create extension "uuid-ossp";
        create extension if not exists moddatetime;
        create extension pgcrypto;
        alter table books add place earth, add code tsvector default to_tsvector(encode(digest('x', 'sha256'), 'hex'));\n`,
    })
    const planned = await planMigration(specOf(BOOKS), folder.path, scratch)
    expect(planned).toMatchObject({ steps: [], rejections: [] })
  } finally {
    await scratch.close()
  }
})

describe('an extension that the embedded database lacks', () => {
  beforeEach(() => write('0003_statistics.sql', UNBUNDLED))

  test('stops a plan and names the option that helps', async () => {
    expect(await migrate('plan')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /0003_statistics\.sql:2: .*pgstattuple.*\n.*\n.*--scratch URL, or DATABASE_SCRATCH_URL/,
      ),
    })
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

  onServer('is planned on an empty database of a server, and leaves nothing there', async () => {
    const scratch = await openTestDatabase()
    try {
      expect(await migrate('plan', '--exit-code', '--scratch', scratch.url ?? '')).toMatchObject({
        code: 0,
        stderr: '',
      })
      await scratch.query({ text: 'create table mine (id int)', values: [] })
      expect(await migrate('plan', '--scratch', scratch.url ?? '')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('the database that --scratch names is not empty: it has the table mine'),
      })
    } finally {
      await scratch.close()
    }
  })
})
