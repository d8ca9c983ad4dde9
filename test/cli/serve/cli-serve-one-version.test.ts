import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  PLUGGED,
  type Project,
  runCli,
  type Serving,
  startServe,
} from '../../support/cli.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { untilPrinted } from '../../support/until-printed.js'
import { waitUntil } from '../../support/wait-until.js'

const PLUGIN = `
import process from 'node:process'
import { word } from './word.js'
export default (app) => app.route('GET', '/word/', 'word', () => ({ status: 200, body: { pid: process.pid, word } }))
`
const CONFIGURATION = `${PLUGGED}auth:
  jwt: { issuer: https://id.example.com, audience: books, algorithms: [EdDSA], keys: keys.pem }
  routes: { word: anyone }
`
const say = (word: string) => `export const word = '${word}'\n`
const newKey = () => generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()

interface Answer {
  readonly pid: number
  readonly word: string
}

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('serve --workers, whose files change before a worker ends,', () => {
  let project: Project
  let database: TestDatabase
  let server: Serving

  beforeEach(async () => {
    project = await makeProject({
      'resources.yaml': CONFIGURATION,
      'plugin.mjs': PLUGIN,
      'word.ts': say('old'),
      'keys.pem': newKey(),
      [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    })
    database = await openTestDatabase()
    const env = { DATABASE_URL: database.url ?? '' }
    server = await startServe(['--workers', '2', '--migrate'], { cwd: project.folder, env })
  })

  afterEach(async () => {
    await server.stop('SIGKILL')
    await database.close()
    await project.remove()
  })

  /** Each request has a connection of its own, which any worker may accept. */
  const ask = async (): Promise<Answer> => {
    const response = await fetch(`${server.url}/api/word/`, { headers: { connection: 'close' } })
    return (await response.json()) as Answer
  }
  const answers = () => Promise.all(Array.from({ length: 12 }, ask))
  const pidsIn = (all: readonly Answer[]) => [...new Set(all.map(({ pid }) => pid))]
  /** Waits until two workers respond, and returns their processes. */
  const bothWorkers = () =>
    waitUntil(
      async () => pidsIn(await answers()),
      ({ length }) => length === 2,
    )

  const workersEnd = (amount: number) =>
    untilPrinted(server.child.stdout, () => server.output.stdout.split('"worker_ended"').length > amount)

  test.each([
    { changed: 'the configuration', file: 'resources.yaml', text: `${CONFIGURATION}# Deployed.\n` },
    { changed: 'a file that a plugin imports', file: 'word.ts', text: say('new') },
    { changed: 'the file of the keys', file: 'keys.pem', text: newKey() },
  ])('starts no worker that would serve other files than the rest: $changed', async ({ file, text }) => {
    const [victim = 0, other] = await bothWorkers()
    await project.write(file, text)
    process.kill(victim, 'SIGKILL')
    expect(await server.logged('files_changed')).toMatchObject({
      level: 'error',
      msg: expect.stringContaining('SIGUSR2') as unknown,
    })
    const served = await answers()
    expect(pidsIn(served)).toEqual([other])
    expect(new Set(served.map(({ word }) => word))).toEqual(new Set(['old']))
  })

  test('serves the new files from every worker after SIGUSR2', async () => {
    const before = await bothWorkers()
    await project.write('word.ts', say('new'))
    process.kill(before[0] ?? 0, 'SIGKILL')
    await server.logged('files_changed')
    server.child.kill('SIGUSR2')
    await server.logged('replaced')
    expect((await bothWorkers()).filter((pid) => before.includes(pid))).toEqual([])
    expect(new Set((await answers()).map(({ word }) => word))).toEqual(new Set(['new']))
    expect((await server.stop()).code).toBe(0)
  })

  /** Deploys a plugin that runs a statement whenever a worker has loaded it, and replaces the workers. */
  const replaceBy = async (statement: string) => {
    await project.write('word.ts', say('new'))
    await project.write('plugin.mjs', `import { appendFileSync, writeFileSync } from 'node:fs'\n${PLUGIN}${statement}`)
    server.child.kill('SIGUSR2')
  }
  const words = async () => [...new Set((await answers()).map(({ word }) => word))]

  test('starts over if the files change while the workers are replaced', async () => {
    const before = await bothWorkers()
    await replaceBy(`if (word === 'new') writeFileSync('word.ts', ${JSON.stringify(say('newest'))})`)
    await server.logged('replaced')
    expect((await bothWorkers()).filter((pid) => before.includes(pid))).toEqual([])
    expect(await words()).toEqual(['newest'])
    expect(server.output.stdout).not.toContain('files_changed')
  })

  test('says how many versions are served if the files change again, until the next SIGUSR2', async () => {
    await replaceBy(`appendFileSync('word.ts', '// Deployed.')`)
    expect(await server.logged('not_replaced')).toMatchObject({
      msg: 'could not replace the workers: the files changed again meanwhile; replaced 2 of 2 workers, so 2 versions of the files are served until the next SIGUSR2',
    })
    await project.write('plugin.mjs', PLUGIN)
    server.child.kill('SIGUSR2')
    await server.logged('replaced')
  })

  test('accepts each of the versions that are served after a failed replacement', async () => {
    await bothWorkers()
    await replaceBy(`writeFileSync('word.ts', 'export const')`)
    expect(await server.logged('not_replaced')).toMatchObject({
      msg: 'could not replace the workers: a new worker ended before it listened; replaced 1 of 2 workers, so 2 versions of the files are served until the next SIGUSR2',
    })
    const victim = await waitUntil(async () => (await answers()).find(({ word }) => word === 'new'))
    await project.write('word.ts', say('old'))
    await project.write('plugin.mjs', PLUGIN)
    process.kill(victim?.pid ?? 0, 'SIGKILL')
    await workersEnd(2)
    expect(await bothWorkers()).not.toContain(victim?.pid)
    expect(await words()).toEqual(['old'])
    expect(server.output.stdout).not.toContain('files_changed')
  })

  test('ends with advice to start it again if the files change while its first workers start', async () => {
    const loaded = `import { appendFileSync } from 'node:fs'\n${PLUGIN}appendFileSync('word.ts', '// Deployed.')`
    await project.write('plugin.mjs', loaded)
    const args = ['serve', '--port', '0', '--workers', '2']
    const { code, stdout } = await runCli(args, { cwd: project.folder, env: { DATABASE_URL: database.url ?? '' } })
    expect(code).toBe(2)
    expect(stdout).toContain('changed since the other workers started; start the server again')
    expect(stdout).not.toContain('SIGUSR2')
  })

  test('logs no digest when it listens', async () => {
    expect(await server.logged('listening')).not.toHaveProperty('files')
  })

  test('starts the worker again once the files are as they were', async () => {
    const [victim = 0] = await bothWorkers()
    await project.write('word.ts', say('new'))
    process.kill(victim, 'SIGKILL')
    await server.logged('files_changed')
    await project.write('word.ts', say('old'))
    expect(await bothWorkers()).not.toContain(victim)
  })

  test('serves the new files if no worker is left', async () => {
    const before = await bothWorkers()
    await project.write('word.ts', say('new'))
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await workersEnd(before.length)
    await waitUntil(() => ask().catch(() => undefined))
    await bothWorkers()
    expect(new Set((await answers()).map(({ word }) => word))).toEqual(new Set(['new']))
  })
})
