import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { migrateUp } from '../../../src/internal.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  type Hosted,
  serveInHost,
  startServe,
} from '../../support/cli.js'
import {
  envOf,
  openOnlyOnServer,
  openTestDatabase,
  type TestDatabase,
  testDatabaseKind,
} from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'
import { untilPrinted } from '../../support/until-printed.js'

const PLUGIN = `import { word } from './word.js'
import { appendFileSync } from 'node:fs'
export default (app) => {
  app.route('GET', '/word/', 'word', () => ({ status: 200, body: { word } }))
  app.onClose(() => appendFileSync('closed.txt', 'once '))
}
`
const CONFIGURATION = `${BOOKS}plugins:\n  - ./plugin.ts\n`
const say = (word: string) => `export const word: string = '${word}'\n`

let project: Project
let database: TestDatabase | undefined
let servers: Hosted[] = []

afterEach(async () => {
  for (const server of servers) await server.stop()
  servers = []
  await database?.close()
  await project.remove()
})

async function start(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Hosted> {
  const server = await serveInHost(['--migrate', ...args], { cwd: project.folder, env: { ...envOf(database), ...env } })
  servers.push(server)
  return server
}

async function begin(): Promise<void> {
  project = await makeProject({
    'resources.yaml': CONFIGURATION,
    'plugin.ts': PLUGIN,
    'word.ts': say('one'),
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  })
  database = await openOnlyOnServer()
}

const save = (text: string) => project.write('resources.yaml', text)

/** Asks again and again until the answer has the text. */
async function answered({ url }: Hosted, path: string, text: string): Promise<void> {
  await waitUntil(async () => (await (await fetch(url + path)).text()).includes(text))
}

/** Waits until versions that are not served any more, or never were, have closed what their plugin opened. */
async function closed(text: string): Promise<void> {
  const read = () => readFile(join(project.folder, 'closed.txt'), 'utf8').catch(() => '')
  await waitUntil(async () => (await read()) === text)
}

/** What is shown goes another way than the log, and may come after it. */
async function shown({ child, output }: Hosted, text: string): Promise<void> {
  await untilPrinted(child.stderr, () => output.stderr.includes(text))
}

/** Asks without a pause, and answers the statuses that came, once it is told to end. */
function keepAsking({ url }: Hosted, path: string): () => Promise<ReadonlySet<number>> {
  const seen = new Set<number>()
  const state = { ended: false }
  const asking = (async () => {
    while (!state.ended) {
      const reply = await fetch(url + path)
      await reply.arrayBuffer()
      seen.add(reply.status)
    }
  })()
  return async () => {
    state.ended = true
    await asking
    return seen
  }
}

describe('serve, while its files change,', () => {
  test('watches a folder that was deleted and created again', async () => {
    const answering = (word: string) =>
      `export default (app) => void app.route('GET', '/word/', 'word', () => ({ status: 200, body: { word: '${word}' } }))\n`
    project = await makeProject({
      'resources.yaml': `${BOOKS}plugins:\n  - ./plugins/words/plugin.ts\n`,
      'plugins/words/plugin.ts': answering('one'),
      [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    })
    database = await openOnlyOnServer()
    const server = await start()
    await answered(server, '/api/word/', 'one')
    for (const [before, after] of [
      ['two', 'three'],
      ['four', 'five'],
    ] as const) {
      await rm(join(project.folder, 'plugins'), { recursive: true })
      await server.logged('not_reloaded')
      await project.write('plugins/words/plugin.ts', answering(before))
      await answered(server, '/api/word/', before)
      await project.write('plugins/words/plugin.ts', answering(after))
      await answered(server, '/api/word/', after)
    }
  })

  test('watches an import that is created after it was written, in a new folder', async () => {
    await begin()
    const server = await start()
    await project.write('plugin.ts', PLUGIN.replace('./word.js', './lib/word.js'))
    await server.logged('not_reloaded')
    await mkdir(join(project.folder, 'lib'))
    await project.write('lib/word.ts', say('two'))
    await answered(server, '/api/word/', 'two')
  })

  test('compiles a plugin once for each save, also if it fails after it has found a new file', async () => {
    await begin()
    const server = await start()
    await project.write('more.ts', say('more'))
    await project.write('plugin.ts', `import './more.js'\n${PLUGIN.replace('./word.js', './missing.js')}`)
    await server.logged('not_reloaded')
    await setTimeout(500)
    await project.write('missing.ts', say('two'))
    await answered(server, '/api/word/', 'two')
    expect(server.output.stderr.match(/error\[SC353\]/g)).toHaveLength(1)
  })

  test('detects files saved during startup', async () => {
    project = await makeProject({
      'resources.yaml': CONFIGURATION,
      // Runs when the configuration has been read.
      'plugin.ts': `import { readFileSync, writeFileSync } from 'node:fs'
const text = readFileSync('resources.yaml', 'utf8')
writeFileSync('resources.yaml', text.replace('/books/', '/tomes/'))
export default () => {}
`,
      [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    })
    database = await openOnlyOnServer()
    await answered(await start(), '/api/tomes/', '[]')
  })

  test('switches to valid files, keeps the last valid version, and fails no request (promise 12)', async () => {
    await begin()
    const server = await start()
    const end = keepAsking(server, '/api/books/')

    await save(CONFIGURATION.replace('/books/', '/books/\n    pagination: { envelope: results }'))
    await answered(server, '/api/books/', '"results":[]')

    await project.write('word.ts', say('two'))
    await answered(server, '/api/word/', 'two')

    await save(CONFIGURATION.replace('type: string', 'type: strng'))
    await server.logged('not_reloaded')
    await shown(server, '--> resources.yaml:9:22')
    await answered(server, '/', '<p>resources.yaml:9:22: error[')
    await answered(server, '/api/books/', '"results":[]')

    await save(CONFIGURATION)
    await answered(server, '/api/books/', '[]')

    // A file that is missing is seen when it comes.
    await project.write('plugin.ts', PLUGIN.replace('./word.js', './other.js'))
    await answered(server, '/api/word/', 'two')
    await project.write('other.ts', say('three'))
    await answered(server, '/api/word/', 'three')
    expect(await (await fetch(server.url)).text()).not.toContain('is not served')

    expect([...(await end())]).toEqual([200])
  })

  test('verifies tokens by the current file of keys', async () => {
    await begin()
    await save(`${CONFIGURATION}auth:
  jwt: { issuer: https://id.example.com, audience: books, algorithms: [ES256], keys: keys.json }
  routes: { word: signed_in }
`)
    const sign = async () => {
      const { stdout } = await runInHost(['token', '--subject', 'ann'], { cwd: project.folder })
      return stdout.trim()
    }
    const old = await sign()
    const server = await start()
    const statusFor = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${server.url}/api/word/`, { headers })).status
    }
    expect(await statusFor(old)).toBe(200)
    for (const file of ['keys.json', 'keys.private.json']) await rm(join(project.folder, file))
    const current = await sign()
    await waitUntil(async () => (await statusFor(current)) === 200)
    expect(await statusFor(old)).toBe(401)
  })

  test('updates the types file if there is one', async () => {
    await begin()
    const file = '.snippetctl/types.d.ts'
    await project.write(file, 'old')
    const server = await start()
    const types = () => readFile(join(project.folder, file), 'utf8')
    await waitUntil(async () => (await types()).includes("declare module 'snippetctl'"))
    expect(await types()).not.toContain('ordering')

    await save(CONFIGURATION.replace('filterable:', 'orderable:'))
    expect(await server.logged('reloaded')).toMatchObject({
      files: ['resources.yaml'],
      changes: ['~ resource book', 'types written'],
    })
    expect(await types()).toContain('ordering')
  })

  test('applies additions to the schema of an embedded database, never to that of a server', async () => {
    await begin()
    const server = await start()
    const end = keepAsking(server, '/api/books/')
    await save(CONFIGURATION.replace('max: 100 }', 'max: 100 }\n      pages: { type: integer, nullable: true }'))
    if (database) {
      const { help } = await server.logged('not_reloaded')
      await closed('once ')
      expect(help).toEqual([
        'write the missing migration: snippetctl migrate plan --write NAME',
        'or, if nothing is to be migrated, see how the database differs from the files: snippetctl migrate status',
      ])
      expect(await readdir(join(project.folder, 'migrations'))).toEqual(['0001_create_books.sql'])
    } else {
      const { changes } = await server.logged('reloaded')
      expect(changes).toEqual([
        '+ field book.pages',
        expect.stringContaining('+ books.pages'),
        expect.stringContaining('wrote migrations/0002_'),
      ])
      const sent = await fetch(`${server.url}/api/books/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"title":"Emma","pages":474}',
      })
      expect(await sent.json()).toMatchObject({ pages: 474 })

      await save(
        CONFIGURATION.replace(
          'max: 100 }',
          'max: 100 }\n      sheets: { type: integer, nullable: true, renamed_from: pages }',
        ),
      )
      const { help, msg } = await server.logged('not_reloaded')
      // The version that was replaced, and the one that was not served.
      await closed('once once ')
      expect(msg).toContain('rename books.sheets')
      expect(await readdir(join(project.folder, 'migrations'))).toHaveLength(2)
      expect(help).toEqual(['look at it, and write the migration: snippetctl migrate plan --write NAME'])
      await answered(server, '/api/books/', '"pages":474')
    }
    expect([...(await end())]).toEqual([200])
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
  onServer('serves a pending change as soon as another process has applied its migration', async () => {
    await begin()
    const server = await start()
    const rejections = () => server.output.stdout.split('\n').filter((line) => line.includes('"not_reloaded"'))
    const rejectedTimes = async (times: number) => {
      await untilPrinted(server.child.stdout, () => rejections().length >= times)
    }
    const text = CONFIGURATION.replace('max: 100 }', 'max: 100 }\n      pages: { type: integer, nullable: true }')
    await save(text)
    const { msg } = await server.logged('not_reloaded')
    expect(msg).toMatch(/still serving the last good version until the schema of the database fits, which is checked/)
    // Saved as it was, it is tried again.
    await save(text)
    await rejectedTimes(2)
    await project.write('migrations/0002_add_pages.sql', '-- up\n\nalter table books add pages integer;\n')
    await untilPrinted(
      server.child.stdout,
      () => rejections().at(-1)?.includes('1 migration is pending: 0002_add_pages') === true,
    )
    if (database) await migrateUp(database, join(project.folder, 'migrations'))
    expect(await server.logged('reloaded')).toMatchObject({ changes: ['+ field book.pages'] })
  })

  onServer('plans additions in the database that DATABASE_SCRATCH_URL names', async () => {
    await begin()
    const scratch = await openTestDatabase()
    await database?.close()
    database = undefined
    try {
      await scratch.query({ text: 'create table mine (id int)', values: [] })
      const server = await start([], { DATABASE_SCRATCH_URL: scratch.url ?? '' })
      const withField = (name: string) =>
        save(CONFIGURATION.replace('max: 100 }', `max: 100 }\n      ${name}: { type: integer, nullable: true }`))
      await withField('pages')
      const { msg } = await server.logged('not_reloaded')
      expect(msg).toContain('the database that DATABASE_SCRATCH_URL names is not empty: it has the table mine')

      await scratch.query({ text: 'drop table mine', values: [] })
      await withField('sheets')
      const { changes } = await server.logged('reloaded')
      expect(changes).toContainEqual(expect.stringContaining('+ books.sheets'))
    } finally {
      await scratch.close()
    }
  })

  const onEmbedded = testDatabaseKind() === 'embedded' ? test : test.skip
  onEmbedded('keeps removed columns in the embedded database, reports them, and applies later additions', async () => {
    await begin()
    const withField = (field: string) => save(CONFIGURATION.replace('max: 100 }', `max: 100 }\n      ${field}`))
    const server = await start()
    await withField('pages: { type: integer, minimum: 1, default: 1 }')
    await server.logged('reloaded')

    await save(CONFIGURATION)
    expect(await server.logged('schema_left')).toMatchObject({
      left: ['drop books.books_pages_range', 'drop books.pages'],
      msg: expect.stringMatching(
        /never deletes data: drop .*books\.pages; to apply: snippetctl migrate plan --write NAME$/,
      ),
    })
    await save(CONFIGURATION.replace('/api', '/api\n  title: Shop'))
    const lines = (event: string) =>
      server.output.stdout
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.includes(`"${event}"`))
        .map((line) => JSON.parse(line) as { readonly changes: unknown; readonly repeated?: number })
    await untilPrinted(server.child.stdout, () => lines('reloaded').length >= 3)

    await withField('sheets: { type: integer, nullable: true }')
    await untilPrinted(server.child.stdout, () => server.output.stdout.includes('+ books.sheets'))
    const sent = await fetch(`${server.url}/api/books/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"title":"Emma","sheets":30}',
    })
    expect(await sent.json()).toEqual({ id: 1, title: 'Emma', sheets: 30 })

    // In one save it may be another name of the same.
    await withField('leaves: { type: integer, nullable: true }')
    const { msg, help } = await server.logged('not_reloaded')
    expect(msg).toMatch(/more than additions: column books\.sheets is not in .* never guessed, so one of these lines/)
    expect(help).toEqual([
      expect.stringMatching(/^write renamed_from: sheets +in the field `leaves`/),
      expect.stringMatching(/^write dropped: \[sheets\] +in the model `book`/),
    ])
    // Not for the save that changed no table.
    expect(lines('schema_left').reduce((sum, { repeated = 1 }) => sum + repeated, 0)).toBeLessThanOrEqual(2)
    expect(lines('reloaded').map(({ changes }) => changes)).toEqual([
      [
        '+ field book.pages',
        expect.stringContaining('+ books.pages'),
        expect.anything(),
        expect.stringContaining('wrote'),
      ],
      ['- field book.pages'],
      [],
      ['+ field book.sheets', '+ books.sheets integer', expect.stringContaining('wrote migrations/0003_')],
    ])
  })

  onEmbedded('tries additions that failed again at the next save', async () => {
    await begin()
    const server = await start()
    const books = `${server.url}/api/books/`
    const headers = { 'content-type': 'application/json' }
    await fetch(books, { method: 'POST', headers, body: '{"title":"Emma"}' })
    const stricter = CONFIGURATION.replace('max: 100 }', 'max: 100, pattern: "^P" }')
    await save(stricter)
    expect(await server.logged('schema_left')).toMatchObject({
      left: [expect.stringContaining('is violated')],
      msg: expect.stringMatching(/^additions failed: .* is violated .*; the next reload tries them again$/),
    })

    await fetch(`${books}1/`, { method: 'PATCH', headers, body: '{"title":"Persuasion"}' })
    await save(stricter.replace('/api', '/api\n  title: Shop'))
    await untilPrinted(server.child.stdout, () => server.output.stdout.includes('wrote migrations/0002_'))
    expect(await readdir(join(project.folder, 'migrations'))).toHaveLength(2)
  })

  // An embedded database is for one server.
  const withTwo = testDatabaseKind() === 'postgres' ? test : test.skip
  withTwo.each([
    { args: ['--no-reload'], env: {} },
    { args: [], env: { NODE_ENV: 'production' } },
  ])('does not watch files with $args and $env', async ({ args, env }) => {
    await begin()
    const still = await startServe(['--migrate', ...args], {
      cwd: project.folder,
      env: { ...envOf(database), ...env },
    })
    servers.push(still)
    const watching = await start()
    await save(CONFIGURATION.replace('/books/', '/volumes/'))
    await answered(watching, '/api/volumes/', '[]')
    expect((await fetch(`${still.url}/api/volumes/`)).status).toBe(404)
    expect((await fetch(`${still.url}/api/books/`)).status).toBe(200)
  })
})
