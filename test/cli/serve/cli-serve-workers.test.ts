import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  PLUGGED,
  type Project,
  runCli,
  type Serving,
  spawnServe,
  startServe,
} from '../../support/cli.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { type Client, connectClient } from '../../support/client.js'
import type { Answer } from '../../support/leaks.js'
import { waitUntil } from '../../support/wait-until.js'
import { untilPrinted } from '../../support/until-printed.js'

/** A plugin that tells which process answers, and what its part of the connections is. */
const PLUGIN = `
import process from 'node:process'
const stopped = new Promise((resolve) => process.once('SIGTERM', resolve))
// A response has no deadline once it has begun, for which a few bytes are not enough.
const held = async function* () {
  yield '{' + ' '.repeat(100_000)
  await stopped
  yield '"pid":' + process.pid + '}'
}
export default (app) => {
  app.route('GET', '/pid/', 'pid', () => ({ status: 200, body: { pid: process.pid } }))
  app.route('GET', '/held/', 'held', () => {
    console.log(JSON.stringify({ event: 'held', pid: process.pid }))
    return { status: 200, headers: { 'content-type': 'application/json' }, stream: held() }
  })
  for (const name of ['busy', 'busy-too']) {
    app.route('GET', '/' + name + '/', name, (context) =>
      context.transaction(async (inside) => {
        await inside.store(app.resource('book')).retrieve(1n)
        await new Promise((resolve) => setTimeout(resolve, 100))
        return { status: 200, body: {} }
      }))
  }
  app.route('GET', '/stuck/', 'stuck', () => {
    console.log(JSON.stringify({ event: 'stuck', pid: process.pid }))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
  app.route('GET', '/long-line/', 'long-line', () => {
    console.log(JSON.stringify({ event: 'long', text: 'x'.repeat(100_000) }))
    return { status: 200, body: {} }
  })
}
`

const FILES = { 'resources.yaml': PLUGGED, 'plugin.mjs': PLUGIN, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION }

let project: Project
let database: TestDatabase
let serving: Serving | undefined
const clients: Client[] = []

beforeAll(async () => {
  project = await makeProject(FILES)
})

afterAll(() => project.remove())

describe('serve --workers rejects', () => {
  test('the embedded database, which only one process can use', async () => {
    const { code, stdout, stderr } = await runCli(['serve', '--workers', '1'], { cwd: project.folder })
    expect([code, stdout]).toEqual([2, expect.stringMatching(/^{.*"event":"serve_failed".*}\n$/)])
    expect(stderr).toMatch(
      /^error: --workers needs a PostgreSQL server: only one process can open the embedded database\n/,
    )
    expect(stderr).toContain('= help: DATABASE_URL=')
  })

  test.each(['0', '1.5', 'auto', '1000'])('%j, which is not a number of workers', async (given) => {
    const { code, stderr } = await runCli(['serve', '--workers', given], { cwd: project.folder })
    expect(code).toBe(2)
    expect(stderr).toContain('The number of workers must be an integer from 1 to 999.')
  })
})

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('serve --workers', () => {
  /** A server that replaces a worker that does not finish. It has twelve seconds to do so, in which the other tests run. */
  let replacing: Awaited<ReturnType<typeof replaceStuckWorker>>
  beforeAll(async () => {
    replacing = await replaceStuckWorker()
  })
  afterAll(() => replacing.remove())

  beforeEach(async () => {
    database = await openTestDatabase()
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    await serving?.stop('SIGKILL')
    serving = undefined
    await database.close()
  })

  const serve = async (workers: number, more = {}) => {
    const env = { DATABASE_URL: database.url ?? '', ...more }
    serving = await startServe(['--workers', String(workers), '--migrate'], { cwd: project.folder, env })
    return serving
  }

  test('migrates once, announces one address, serves from every worker, and stops with 0 on SIGTERM', async () => {
    const server = await serve(2)
    await openOnBoth(server)
    expect(await (await fetch(`${server.url}/api/books/`)).json()).toEqual([])
    const { code, stdout, stderr } = await server.stop()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/"event":"migrated"/g)).toHaveLength(1)
    expect(stdout.match(/"event":"listening"/g)).toHaveLength(1)
  })

  test('writes whole lines, each with the worker and its process', async () => {
    const server = await serve(2)
    const { opened, pids } = await openOnBoth(server)
    await Promise.all(opened.map((client) => client.get('/api/long-line/')))
    const { stdout } = await server.stop()
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    expect(entries.filter(({ event }) => event === 'long')).toHaveLength(opened.length)
    const requests = entries.filter(({ event }) => event === 'request')
    expect(new Set(requests.map(({ pid }) => pid))).toEqual(new Set(pids))
    expect(new Set(requests.map(({ worker }) => worker))).toEqual(new Set([1, 2]))
    const { pid } = entries.find(({ event }) => event === 'listening') ?? {}
    expect(pid).toBe(server.child.pid)
  })

  test('replaces a killed worker without failing requests on the others', async () => {
    const server = await serve(2)
    const { opened, pids: before } = await openOnBoth(server)
    const [victim = 0] = before
    const others = opened.filter((_client, index) => before[index] !== victim)
    let replaced = false
    const load = others.map(async (client) => {
      for (let after = 0; after < 20; after += replaced ? 1 : 0) expect(await client.pid()).not.toBe(victim)
    })
    process.kill(victim, 'SIGKILL')
    expect(await server.logged('worker_ended')).toMatchObject({ level: 'warn', worker_pid: victim, signal: 'SIGKILL' })
    // The one that is left answers alone until there is another.
    const left = new Set(before.filter((pid) => pid !== victim))
    await waitUntil(async () => (await pidsOf(server, 4)).some((pid) => !left.has(pid)))
    replaced = true
    await Promise.all(load)
    expect((await server.stop()).code).toBe(0)
  })

  test.each([
    { killed: 1, fate: 'hands them to the other worker', expected: [200, 200, 200, 200] },
    { killed: 2, fate: 'closes or serves them', expected: expect.not.arrayContaining(['none in time']) },
  ])('of connections that $killed of 2 workers had not accepted when killed: $fate', async ({ killed, expected }) => {
    const server = await serve(2, { SNIPPETCTL_ADMIN_PORT: '0' })
    const { url: admin } = await server.logged('admin_listening')
    const victims = [...new Set((await openOnBoth(server)).pids)].slice(0, killed)
    for (const pid of victims) process.kill(pid, 'SIGSTOP')
    const answers = Array.from({ length: 4 }, () =>
      fetch(`${server.url}/api/pid/`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(120_000) }).then(
        ({ status }) => status,
        ({ name }: Error) => (name === 'TimeoutError' ? 'none in time' : 'closed'),
      ),
    )
    // The parent must have handed a connection to each of the victims.
    await delay(500)
    // The parent sends queries to the victims after the connections.
    await fetch(`${String(admin)}/readyz`)
    for (const pid of victims) process.kill(pid, 'SIGKILL')
    expect(await Promise.all(answers)).toEqual(expected)
  })

  test('serves from one worker, and replaces it at the same address', async () => {
    const server = await serve(1)
    const [victim = 0] = await pidsOf(server, 1)
    process.kill(victim, 'SIGKILL')
    await server.logged('worker_ended')
    const [pid] = await waitUntil(
      () => pidsOf(server, 1).catch(() => []),
      (pids) => pids.length > 0,
    )
    expect(pid).not.toBe(victim)
  })

  test('finishes the requests in progress in every worker before it stops', async () => {
    const server = await serve(2)
    const held = await hold(server)
    const ended = server.stop()
    expect((await pidsIn(held)).size).toBe(2)
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
  })

  test('replaces every worker on SIGUSR2 to serve the current files, and finishes requests in progress', async () => {
    await project.write('plugin.mjs', PLUGIN)
    const server = await serve(2)
    const held = await hold(server)
    let replaced = false
    const load = [1, 2, 3].map(async () => {
      for (let client = await connectClient(server.url); !replaced; ) {
        // A connection may be closed while it is quiet; then another must be had.
        const answer = await client.get('/api/pid/').catch(() => undefined)
        if (answer !== undefined) expect(answer.status).toBe(200)
        if (answer?.headers['connection'] !== 'keep-alive') client = await connectClient(server.url)
      }
    })
    await project.write('plugin.mjs', PLUGIN.replace('/held/', '/new/'))
    server.child.kill('SIGUSR2')
    const before = await pidsIn(held)
    expect(before.size).toBe(2)
    await server.logged('replaced')
    replaced = true
    await Promise.all(load)
    const after = await pidsOf(server, 8)
    expect(after.filter((pid) => before.has(pid))).toEqual([])
    expect((await fetch(`${server.url}/api/held/`)).status).toBe(404)
    await project.write('plugin.mjs', PLUGIN)
    expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  test('replaces its workers when they listen if SIGUSR2 comes before', async () => {
    const server = spawnServe(['--workers', '2', '--migrate'], {
      cwd: project.folder,
      env: { DATABASE_URL: database.url ?? '' },
    })
    await server.logged('database')
    server.child.kill('SIGUSR2')
    expect(await server.logged('replacing')).toMatchObject({
      msg: 'SIGUSR2: the workers will be replaced when they listen',
    })
    await server.logged('replaced')
    expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  test('keeps its workers if the files are invalid on SIGUSR2', async () => {
    const server = await serve(2)
    const before = new Set((await openOnBoth(server)).pids)
    await project.write('plugin.mjs', 'throw new Error("not today")')
    server.child.kill('SIGUSR2')
    expect(await server.logged('not_replaced')).toMatchObject({ level: 'error' })
    expect(await server.logged('serve_failed')).toMatchObject({
      level: 'error',
      worker: expect.any(Number),
      msg: expect.stringMatching(/^resources\.yaml:\d+:\d+: error\[SC353\] plugin\.mjs:1:7: .*not today$/),
    })
    await project.write('plugin.mjs', PLUGIN)
    expect(new Set((await openOnBoth(server)).pids)).toEqual(before)
    expect(server.output.stderr).toContain('not today')
  })

  test('gives up with the exit code of its workers if none is left and no new one listens', async () => {
    const server = await serve(2)
    const pids = new Set((await openOnBoth(server)).pids)
    await project.write('plugin.mjs', 'throw new Error("not today")')
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    const { code, stdout } = await server.ended
    await project.write('plugin.mjs', PLUGIN)
    expect(code).toBe(2)
    expect(stdout).toContain('"event":"workers_lost"')
  })

  test('leaves no worker behind if it is killed itself', async () => {
    const server = await serve(2)
    const { opened, pids } = await openOnBoth(server)
    await server.stop('SIGKILL')
    await Promise.all(opened.map((client) => client.closed))
    for (const pid of new Set(pids)) await whenGone(pid)
  })

  test('divides the connections among the workers', async () => {
    const server = await serve(2, { DATABASE_POOL: '5' })
    const { opened, pids } = await openOnBoth(server, 2)
    // No route alone gets all connections of a worker, so each worker gets requests to both.
    const ranks = pids.map((pid, at) => pids.slice(0, at).filter((earlier) => earlier === pid).length)
    const keepBusy = () =>
      Promise.all(opened.map((client, at) => client.get((ranks[at] ?? 0) % 2 === 0 ? '/api/busy/' : '/api/busy-too/')))
    const connections = async () => {
      const { rows } = await database.query({
        text: `select count(*) from pg_stat_activity where application_name = 'snippetctl' and pid <> pg_backend_pid()
          and datname = current_database()`,
        values: [],
      })
      return Number(rows[0]?.[0])
    }
    // One of the five is for quick reads, and none was made.
    await waitUntil(async () => {
      await keepBusy()
      return (await connections()) >= 4
    })
    await keepBusy()
    expect(await connections()).toBe(4)
  })

  test.each([
    { pool: '3', workers: '2', says: '3 connections to the database are too few for 2 workers: each needs at least 2' },
    { pool: '1', workers: '1', says: '1 connection to the database is too few for 1 worker: each needs at least 2' },
  ])('rejects $pool connections for $workers workers', async ({ pool, workers, says }) => {
    const env = { DATABASE_URL: database.url ?? '', DATABASE_POOL: pool }
    const { code, stderr } = await runCli(['serve', '--migrate', '--workers', workers], { cwd: project.folder, env })
    expect(code).toBe(2)
    expect(stderr).toContain(
      `error: ${says}\n  = help: raise the pool size, if the PostgreSQL server allows it: DATABASE_POOL=`,
    )
  })

  test.each([
    { what: 'a database that does not exist', path: '/there_is_none', plugin: PLUGIN, says: 'error: .*there_is_none' },
    { what: 'a plugin that fails', path: undefined, plugin: 'throw new Error("not today")', says: 'not today' },
  ])('reports an error once although every worker has it: $what', async ({ path, plugin, says }) => {
    await project.write('plugin.mjs', plugin)
    const url = new URL(database.url ?? '')
    url.pathname = path ?? url.pathname
    const { code, stdout, stderr } = await runCli(['serve', '--port', '0', '--migrate', '--workers', '3'], {
      cwd: project.folder,
      env: { DATABASE_URL: url.href },
    })
    await project.write('plugin.mjs', PLUGIN)
    expect(code).toBe(2)
    expect(stderr.match(new RegExp(says, 'g'))).toHaveLength(1)
    expect(stdout).not.toContain('listening')
  })

  test('reports once that its port is in use', async () => {
    const server = await serve(1)
    const { port } = new URL(server.url)
    const { code, stderr } = await runCli(['serve', '--port', port, '--workers', '3'], {
      cwd: project.folder,
      env: { DATABASE_URL: database.url ?? '' },
    })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: port \d+ is already in use\n {2}= help: .*\n$/)
  })

  test('kills a worker that does not finish in time when it is replaced', async () => {
    const { server, asked, stuck } = replacing
    expect(await server.logged('worker_killed')).toMatchObject({ level: 'warn', worker_pid: stuck })
    expect(await server.logged('replaced')).toMatchObject({ level: 'info' })
    await asked
    expect(await pidsOf(server, 8)).not.toContain(stuck)
    expect(server.output.stdout).toContain('the workers are being replaced already')
    expect((await server.stop()).code).toBe(0)
  })
})

/** Clients, each on a connection of its own. */
async function open({ url }: Serving, connections: number): Promise<readonly Client[]> {
  const opened = await Promise.all(Array.from({ length: connections }, () => connectClient(url)))
  clients.push(...opened)
  return opened
}

/** Opens clients until each of two workers has `least` of them: on a busy machine, one worker may accept nearly all. */
async function openOnBoth(server: Serving, least = 1): Promise<{ readonly opened: Client[]; readonly pids: number[] }> {
  const opened: Client[] = []
  const pids: number[] = []
  const isEnough = (pid: number) => pids.filter((each) => each === pid).length >= least
  await waitUntil(async () => {
    const more = await open(server, 8)
    opened.push(...more)
    pids.push(...(await Promise.all(more.map((client) => client.pid()))))
    return new Set(pids.filter(isEnough)).size === 2
  })
  return { opened, pids }
}

/** Sends requests to two workers, and returns their pending answers once all requests have arrived. The workers answer when they are told to stop. */
async function hold(server: Serving): Promise<readonly Promise<Answer>[]> {
  const { opened } = await openOnBoth(server)
  const answers = opened.map((client) => client.get('/api/held/'))
  await untilPrinted(
    server.child.stdout,
    () => (server.output.stdout.match(/"event":"held"/g) ?? []).length >= answers.length,
  )
  return answers
}

/** The processes that sent these responses, each of which must be successful. */
async function pidsIn(answers: readonly Promise<Answer>[]): Promise<ReadonlySet<number>> {
  const all = await Promise.all(answers)
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
  return new Set(all.map(({ body }) => (JSON.parse(body) as { pid: number }).pid))
}

/** Starts a server in a project of its own, and asks it twice to replace its workers, of which one is stuck. */
async function replaceStuckWorker() {
  const own = await makeProject(FILES)
  const ownDatabase = await openTestDatabase()
  const env = { DATABASE_URL: ownDatabase.url ?? '' }
  const server = await startServe(['--workers', '2', '--migrate'], { cwd: own.folder, env })
  const asked = fetch(`${server.url}/api/stuck/`).catch(() => undefined)
  const { pid: stuck } = await server.logged('stuck')
  server.child.kill('SIGUSR2')
  await server.logged('replacing')
  server.child.kill('SIGUSR2')
  const remove = async () => {
    await server.stop('SIGKILL')
    await ownDatabase.close()
    await own.remove()
  }
  return { server, asked, stuck, remove }
}

/** The processes that respond to `connections` new connections. */
async function pidsOf(server: Serving, connections: number): Promise<readonly number[]> {
  return Promise.all((await open(server, connections)).map((client) => client.pid()))
}

async function whenGone(pid: number): Promise<void> {
  await waitUntil(() => !isAlive(pid))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
