import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  startServe,
} from '../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../support/database.js'

/** The types are gone when it is run, and with them the lines. */
const TYPES = `import type { Plugin } from 'snippetctl'

interface Shelf {
  readonly name: string
}

`
const pluginOf = (lines: string) => `${TYPES}const plugin: Plugin = (app) => {\n${lines}\n}\n\nexport default plugin\n`

const FAILS = pluginOf(`  const shelf = undefined as unknown as Shelf
  app.setting('shelf', { type: 'string' }, shelf.name)`)

const MISUSES = pluginOf(`  const name: string = 'shelf'
  app.route('GET', name, 'shelf', () => ({ status: 200 }))`)

const THROWS = pluginOf(`  app.setting('shelf', { type: 'string' }, 'a')
  app.route('GET', '/shelf/', 'shelf', async () => {
    const shelf = undefined as unknown as Shelf
    return { status: 200, text: shelf.name }
  })
  app.hooks('book', {
    beforeCreate: () => {
      throw new Error('no shelf')
    },
  })`)

let project: Project
let database: TestDatabase | undefined

beforeEach(async () => {
  project = await makeProject({
    'resources.yaml': `${BOOKS}settings:\n  shelf: b\nplugins:\n  - ./plugin.ts\n`,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  })
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const write = (text: string) => writeFile(join(project.folder, 'plugin.ts'), text)

describe('an error inside a plugin names its line', () => {
  test.each([
    [
      'that throws during registration',
      FAILS,
      'plugin.ts:9:50: the plugin `./plugin.ts`: Cannot read properties of undefined',
    ],
    [
      'with an invalid registration',
      MISUSES,
      "plugin.ts:9:7: the plugin `./plugin.ts`: the path of the route `shelf` is 'shelf'",
    ],
  ])('%s, without consequential errors', async (_what, text, message) => {
    await write(text)
    const { code, stdout } = await runInHost(['check'], { cwd: project.folder })
    expect(code).toBe(1)
    expect(stdout).toContain(message)
    expect(stdout).toContain('resources.yaml: 1 error\n')
  })

  test('during a request', async () => {
    await write(THROWS)
    database = await openOnlyOnServer()
    const serving = await startServe(['--migrate'], { cwd: project.folder, env: envOf(database) })
    try {
      expect((await fetch(`${serving.url}/api/shelf/`)).status).toBe(500)
      await fetch(`${serving.url}/api/books/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"title":"a"}',
      })
    } finally {
      await serving.stop()
    }
    const failures = serving.output.stdout.split('\n').filter((line) => line.includes('"event":"failure"'))
    expect(failures).toEqual([expect.stringContaining('plugin.ts:11:'), expect.stringContaining('plugin.ts:15:')])
  })
})
