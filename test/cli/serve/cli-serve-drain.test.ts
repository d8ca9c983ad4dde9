import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
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
import { connectClient } from '../../support/client.js'
import { envOf, openOnlyOnServer, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const PLUGIN = `
import process from 'node:process'
export default (app) => {
  app.route('GET', '/broken/', 'broken', () => {
    setImmediate(() => { throw new Error('nobody caught this') })
    return { status: 200, body: {} }
  })
  app.route('GET', '/pid/', 'pid', () => ({ status: 200, body: { pid: process.pid } }))
}
`

let project: Project
let database: TestDatabase | undefined
let serving: Serving | undefined

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': PLUGGED,
    'plugin.mjs': PLUGIN,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  })
})

beforeEach(async () => {
  database = await openOnlyOnServer()
})

afterEach(async () => {
  await serving?.stop('SIGKILL')
  serving = undefined
  await database?.close()
})

afterAll(() => project.remove())

async function serve(delay: string, ...args: readonly string[]) {
  const given = envOf(database)
  const env = { ...given, SNIPPETCTL_DRAIN_DELAY: delay, SNIPPETCTL_ADMIN_PORT: '0' }
  serving = await startServe(['--migrate', ...args], { cwd: project.folder, env })
  return { ...serving, admin: String((await serving.logged('admin_listening'))['url']) }
}

/** Longer than any test may take. */
const FOR_EVER = '300000'
/** Long enough for the requests of a test on a busy machine. */
const A_WHILE = '3000'

interface Readiness {
  readonly ready: boolean
  readonly problems: readonly { readonly check: string; readonly worker?: number }[]
}

async function drains({ url, admin, child, ended }: Awaited<ReturnType<typeof serve>>): Promise<void> {
  const kept = await connectClient(url)
  expect((await kept.get('/api/books/')).status).toBe(200)
  child.kill('SIGTERM')
  const look = async () => (await (await fetch(`${admin}/readyz`)).json()) as Readiness
  // A worker that got the signal itself may be the first to say so.
  const answer = await waitUntil(
    look,
    ({ ready, problems }) => !ready && problems.every(({ worker }) => worker === undefined),
  )
  expect(answer).toEqual({ ready: false, problems: [{ check: 'draining', detail: 'the server is stopping' }] })
  // Old connections are kept, and new ones are taken.
  const again = await kept.get('/api/books/')
  expect([again.status, again.headers['connection']]).toEqual([200, 'keep-alive'])
  expect((await fetch(`${url}/api/books/`)).status).toBe(200)
  expect((await fetch(`${admin}/livez`)).status).toBe(200)
  const { code, stderr } = await ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  await kept.closed
}

describe('a server that receives a stop signal', () => {
  test('is not ready, but still accepts requests for the drain delay', async () => {
    await drains(await serve(A_WHILE))
  })

  test('stops at once on a second signal', async () => {
    const { child, logged, stop } = await serve(FOR_EVER)
    child.kill('SIGTERM')
    await logged('stopping')
    expect((await stop()).code).toBe(143)
  })

  test('does not wait after an uncaught error', async () => {
    const { url, ended } = await serve(FOR_EVER)
    await fetch(`${url}/api/broken/`)
    expect((await ended).code).toBe(1)
  })
})

test.each(['-1', '1.5', '300001', 'soon'])('%j is rejected as a drain delay', async (given) => {
  const { code, stderr } = await runCli(['serve', '--drain-delay', given], { cwd: project.folder })
  expect(code).toBe(2)
  expect(stderr).toContain('The delay must be an integer from 0 to 300000 milliseconds.')
})

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('a server with workers that receives a stop signal', () => {
  test('is not ready, but its workers still accept requests for the drain delay', async () => {
    await drains(await serve(A_WHILE, '--workers', '2'))
  })

  test('does so too if its workers receive the signal', async () => {
    const server = await serve(A_WHILE, '--workers', '1')
    const client = await connectClient(server.url)
    process.kill(await client.pid(), 'SIGTERM')
    client.close()
    await drains(server)
  })
})
