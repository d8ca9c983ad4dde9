import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  startServe,
} from '../support/cli.js'

const CONFIG = 'my books.yaml'
const FLAG = ` --config '${CONFIG}'`

let project: Project
beforeAll(async () => {
  const files = { 'resources.yaml': BOOKS, [CONFIG]: BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION }
  project = await makeProject({ ...files, 'a file.json': '' })
})
afterAll(() => project.remove())

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runInHost(args, { cwd: project.folder, env })

describe('a suggested command has the configuration of the command', () => {
  test.each([
    {
      args: ['openapi', '--version', '3.0', '--check', 'a file.json'],
      help: `write it again: snippetctl openapi${FLAG} --version 3.0 > 'a file.json'`,
    },
    { args: ['types', '--check'], help: `write it: snippetctl types${FLAG}` },
    { args: ['url', 'book-detail'], help: `snippetctl url${FLAG} book-detail id=<bigint>` },
    { args: ['explain', 'book-list'], help: `create it: snippetctl migrate up${FLAG}` },
    { args: ['migrate', 'status'], help: `apply the pending migrations: snippetctl migrate up${FLAG}` },
  ])('$args', async ({ args, help }) => {
    expect((await run([...args, '--config', CONFIG])).stderr).toContain(`= help: ${help}\n`)
    expect((await run(args, { SNIPPETCTL_CONFIG: CONFIG })).stderr).toContain(`= help: ${help}\n`)
    expect((await run(args)).stderr).toContain(`= help: ${help.replace(FLAG, '')}\n`)
  })

  test('also if that is the default, and the environment names another', async () => {
    const args = ['migrate', 'status', '--config', 'resources.yaml']
    const { stderr } = await run(args, { SNIPPETCTL_CONFIG: CONFIG })
    expect(stderr).toContain('snippetctl migrate up --config resources.yaml\n')
  })

  test('in JSON documents', async () => {
    const { stdout } = await run(['doctor', '--json', '--config', CONFIG])
    expect(stdout).toContain(`snippetctl migrate up${FLAG}`)
  })

  test('but not if it reads none, nor if a sentence names it in backticks', async () => {
    expect((await run(['check', '--config', 'missing.yaml'])).stderr).toContain('snippetctl new FOLDER\n')
    const { stderr } = await run(['db', 'restore', 'migrations', '--config', CONFIG])
    expect(stderr).toContain('`snippetctl db backup` has written\n')
  })

  test('in the log of a server', async () => {
    const served = await makeProject({
      [CONFIG]: BOOKS.replace('max: 100 }', 'max: 100 }\n      pages: { type: integer, nullable: true }'),
      [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION.replace('not null,', 'not null,\n  "pages" integer,'),
    })
    const serving = await startServe(['--config', CONFIG], { cwd: served.folder })
    try {
      await served.write(CONFIG, BOOKS)
      expect(await serving.logged('schema_left')).toMatchObject({
        msg: expect.stringContaining(`to apply: snippetctl migrate plan${FLAG} --write NAME`),
      })
      const renamed = BOOKS.replaceAll('title', 'name').replace('max: 100', 'max: 100, renamed_from: title')
      await served.write(CONFIG, renamed)
      expect(await serving.logged('not_reloaded')).toMatchObject({
        help: [`look at it, and write the migration: snippetctl migrate plan${FLAG} --write NAME`],
      })
    } finally {
      await serving.stop()
      await served.remove()
    }
  })
})
