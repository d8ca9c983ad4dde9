import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runCli,
  type Serving,
  startServe,
} from '../../support/cli.js'
import { openTestDatabase, testDatabaseKind } from '../../support/database.js'

let project: Project
let serving: Serving | undefined

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
})

afterEach(async () => {
  await serving?.stop('SIGKILL')
  serving = undefined
})

afterAll(() => project.remove())

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('serve on PostgreSQL', () => {
  test('rejects pending migrations, and applies them with --migrate', async () => {
    const database = await openTestDatabase()
    const env = { DATABASE_URL: database.url ?? '' }
    const rejected = await runCli(['serve', '--port', '0'], { cwd: project.folder, env })
    expect(rejected.code).toBe(2)
    expect(rejected.stderr).toContain('error: 1 migration is pending: 0001_create_books\n  = help: ')
    expect(rejected.stderr).toContain('--migrate')
    serving = await startServe(['--migrate'], { cwd: project.folder, env })
    expect((await post(serving.url)).status).toBe(201)
    expect(await serving.stop()).toMatchObject({ code: 0 })
    await database.close()
  })

  test('rejects a database that does not exist', async () => {
    const database = await openTestDatabase()
    const url = new URL(database.url ?? '')
    url.pathname = '/there_is_none'
    const { code, stderr } = await runCli(['serve', '--port', '0'], {
      cwd: project.folder,
      env: { DATABASE_URL: url.href },
    })
    await database.close()
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: .*there_is_none/)
  })
})

function post(url: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/api/books/`, { method: 'POST', headers, body: JSON.stringify({ title: 'Dune' }) })
}
