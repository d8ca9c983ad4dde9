import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  PLUGGED,
  type Project,
  runCli,
  serveInHost,
  type Serving,
  spawnServe,
  type Started,
} from '../support/cli.js'
import { type Client, connectClient } from '../support/client.js'
import { envOf, openOnlyOnServer, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { waitUntil } from '../support/wait-until.js'

/** The database forbids what the configuration allows. */
const FORBIDDING = `-- up

alter table "books" add constraint "no_dune" check ("title" <> 'Dune');

-- down

alter table "books" drop constraint "no_dune";
`

const PLUGIN = `
import { createRequire } from 'node:module'
import process from 'node:process'
const { cache } = createRequire(import.meta.url)
export default (app) => {
  app.route('GET', '/pid/', 'pid', () => ({ status: 200, body: { pid: process.pid } }))
  app.route('GET', '/loaded/', 'loaded', () => ({
    status: 200,
    body: { promClient: Object.keys(cache).some((file) => file.includes('prom-client')) },
  }))
  app.route('GET', '/busy/', 'busy', () => {
    for (const end = Date.now() + 700; Date.now() < end; );
    return { status: 200, body: {} }
  })
}
`

const AUTH = `auth:
  roles: { names: [member] }
  development: { ann: { roles: [member] }, eve: {} }
models:`
const GRANTS = '    access: [{ to: member, may: all }]\n'

let project: Project
let database: TestDatabase | undefined
let started: Pick<Started, 'stop'> | undefined

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': PLUGGED,
    'auth.yaml': PLUGGED.replace('models:', AUTH).replace(/path: .*books.*\n/, (path) => `${path}${GRANTS}`),
    'plugin.mjs': PLUGIN,
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    'migrations/0002_forbid.sql': FORBIDDING,
  })
})

beforeEach(async () => {
  database = await openOnlyOnServer()
})

afterEach(async () => {
  await started?.stop('SIGKILL')
  started = undefined
  await commandHost.release(project.folder)
  await database?.close()
})

afterAll(() => project.remove())

interface Watched extends Serving {
  readonly admin: string
}

const spawn = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const given = envOf(database)
  const server = spawnServe(['--admin-port', '0', ...args], { cwd: project.folder, env: { ...given, ...env } })
  started = server
  return server
}

const adminOf = async (server: Pick<Started, 'logged'>) => String((await server.logged('admin_listening'))['url'])

async function serve(...args: readonly string[]): Promise<Watched> {
  const server = spawn(['--migrate', ...args])
  const { url } = await server.logged('listening')
  return { ...server, url: String(url), admin: await adminOf(server) }
}

/** Serves in the process that runs commands. */
async function serveHere(...args: readonly string[]) {
  const given = { cwd: project.folder, env: envOf(database) }
  const server = await serveInHost(['--admin-port', '0', '--migrate', ...args], given)
  started = server
  return { url: server.url, admin: await adminOf(server) }
}

const create = (url: string, title: string) =>
  fetch(`${url}/api/books/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  })

const ready = async (admin: string) => {
  const response = await fetch(`${admin}/readyz`)
  return { status: response.status, body: (await response.json()) as { problems: { check: string }[] } }
}

/** The values of the metrics, by name and labels. */
async function scrape(admin: string): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${admin}/metrics`)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

const requests = (method: string, route: string, status: string) =>
  `http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`

describe('the admin port', () => {
  test('is closed by default, and loads nothing', async () => {
    const given = envOf(database)
    const server = spawnServe(['--migrate'], { cwd: project.folder, env: given })
    started = server
    const { url } = await server.logged('listening')
    expect((await fetch(`${String(url)}/metrics`)).status).toBe(404)
    expect(await (await fetch(`${String(url)}/api/loaded/`)).json()).toEqual({ promClient: false })
    expect((await server.stop()).stdout).not.toContain('admin_listening')
  })

  test("listens on the loopback address, separate from the application's paths", async () => {
    const { url, admin } = await serveHere()
    expect(admin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${admin}/api/books/`)).status).toBe(404)
    expect((await fetch(`${url}/livez`)).status).toBe(404)
    expect(await (await fetch(`${url}/api/loaded/`)).json()).toEqual({ promClient: true })
  })

  test('responds to GET and HEAD on its paths only', async () => {
    const { admin } = await serveHere()
    const nowhere = '{"error":"not found; the paths are /livez, /readyz, /metrics"}\n'
    const cases = [
      ['GET', '/livez', 200, '{"live":true}\n'],
      ['GET', '/livez?verbose', 200, '{"live":true}\n'],
      ['GET', '/readyz', 200, '{"ready":true,"problems":[]}\n'],
      ['HEAD', '/readyz', 200, ''],
      ['GET', '/', 404, nowhere],
      ['GET', '/constructor', 404, nowhere],
      ['POST', '/readyz', 405, '{"error":"this path takes GET, HEAD"}\n'],
    ] as const
    for (const [method, path, status, body] of cases) {
      const response = await fetch(admin + path, { method })
      expect([method, path, response.status, await response.text()]).toEqual([method, path, status, body])
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD' : null)
    }
  })

  test('reports a port in use by name', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { code, stderr } = await runCli(['serve', '--port', '0', '--migrate'], {
      cwd: project.folder,
      env: { SNIPPETCTL_ADMIN_PORT: String(port), ...(database?.url !== undefined && { DATABASE_URL: database.url }) },
    })
    taken.close()
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^error: port \d+ is already in use\n {2}= help: choose another: snippetctl serve --admin-port \d+ {3}\(or set SNIPPETCTL_ADMIN_PORT\)\n$/,
    )
  })
})

describe('/metrics', () => {
  test('counts requests by route, method and class of status, with their durations', async () => {
    const { url, admin } = await serveHere()
    for (const title of ['a', 'b', 'c']) expect((await create(url, title)).status).toBe(201)
    expect((await create(url, '')).status).toBe(400)
    await fetch(`${url}/api/books/`, { method: 'HEAD' })
    await fetch(`${url}/api/books/9999/`)
    await fetch(`${url}/nowhere/`)
    const metrics = await scrape(admin)
    const counted = [...metrics].filter(([name]) => name.startsWith('http_request_duration_seconds_count'))
    expect(counted).toEqual([
      [requests('POST', 'book-list', '2xx'), 3],
      [requests('POST', 'book-list', '4xx'), 1],
      [requests('GET', 'book-list', '2xx'), 1],
      [requests('GET', 'book-detail', '4xx'), 1],
      [requests('any', 'none', '4xx'), 1],
    ])
    const bucket = (le: string) =>
      metrics.get(`http_request_duration_seconds_bucket{le="${le}",method="POST",route="book-list",status="2xx"}`)
    expect(bucket('+Inf')).toBe(3)
    expect(bucket('0.001')).toBeLessThanOrEqual(bucket('10') ?? 0)
    expect(metrics.get('http_requests_in_progress')).toBe(0)
  })

  test('counts what callers could and could not request', async () => {
    const { url, admin } = await serveHere('--config', 'auth.yaml')
    for (const name of ['ann', 'eve', 'nobody'])
      await fetch(`${url}/api/books/`, { headers: { authorization: `Dev ${name}` } })
    await fetch(`${url}/api/books/`, { headers: { authorization: 'Dev ann' } })
    const counted = [...(await scrape(admin))].filter(([name]) => name.startsWith('snippetctl_access_total'))
    expect(counted.map(([name, value]) => [name.slice('snippetctl_access_total'.length), value])).toEqual([
      ['{route="book-list",outcome="allowed"}', 2],
      ['{route="book-list",outcome="unauthenticated"}', 1],
      ['{route="book-list",outcome="forbidden"}', 1],
    ])
  })

  test('counts no callers without `auth`', async () => {
    const { url, admin } = await serveHere()
    await fetch(`${url}/api/books/`)
    expect([...(await scrape(admin)).keys()].filter((name) => name.startsWith('snippetctl_access'))).toEqual([])
  })

  test('reports connections, the event loop, statements, and validator gaps', async () => {
    const { url, admin, logged } = await serve()
    expect((await create(url, 'Dune')).status).toBe(400)
    const metrics = await scrape(admin)
    const idle = metrics.get('snippetctl_database_connections{state="idle"}') ?? 0
    expect(idle).toBeGreaterThan(0)
    expect(metrics.get('snippetctl_database_connections_max')).toBeGreaterThanOrEqual(idle)
    expect(metrics.get('snippetctl_database_connections{state="busy"}')).toBe(0)
    expect(metrics.get('snippetctl_database_waiting')).toBe(0)
    expect(metrics.get('snippetctl_database_rejected_total')).toBe(0)
    expect(metrics.has('snippetctl_database_pipelined_connections')).toBe(true)
    expect(metrics.get('snippetctl_statements_cached')).toBe(1)
    expect(metrics.get('snippetctl_statements_evicted_total')).toBe(0)
    expect(metrics.get('snippetctl_drifted_tables')).toBe(0)
    expect(metrics.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0)
    expect(metrics.get('snippetctl_validator_gaps_total')).toBe(1)
    const gap = await logged('validator_gap')
    expect(gap).toMatchObject({ route: 'book-list', code: '23514', table: 'books', constraint: 'no_dune' })
    expect(JSON.stringify(gap)).not.toContain('Dune')
  })
})

describe('/readyz', () => {
  test('reports an unavailable database while /livez is fine, and an unchecked schema (promise 20)', async () => {
    const server = spawn([], { DATABASE_URL: 'postgres://app@127.0.0.1:1/app' })
    const admin = await adminOf(server)
    expect((await fetch(`${admin}/livez`)).status).toBe(200)
    expect(await ready(admin)).toEqual({
      status: 503,
      body: {
        ready: false,
        problems: [
          { check: 'starting', detail: 'the schema of the database has not been checked yet' },
          { check: 'database', detail: 'The database is not available' },
        ],
      },
    })
  })

  test('responds while a database hangs', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const server = spawn([], { DATABASE_URL: `postgres://app@127.0.0.1:${port}/app` })
    const { body } = await ready(await adminOf(server))
    silent.close()
    expect(body.problems).toContainEqual({
      check: 'database',
      detail: 'The database did not respond within 750 ms',
    })
  })

  test('reports that the event loop was blocked', async () => {
    const { url, admin } = await serve()
    const busy = fetch(`${url}/api/busy/`)
    // Asked before the loop is held up, an answer is kept for a moment.
    let problems = (await ready(admin)).body.problems
    await busy
    for (let tries = 0; tries < 100 && problems.length === 0; tries++) {
      const again = fetch(`${url}/api/busy/`)
      problems = (await ready(admin)).body.problems
      await again
    }
    expect(problems).toEqual([
      { check: 'event_loop', detail: expect.stringMatching(/^the event loop is \d+ ms late$/) },
    ])
    await waitUntil(
      () => ready(admin),
      ({ status }) => status === 200,
    )
  })
})

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('/readyz', () => {
  test('names tables that differ from the configuration, but no columns', async () => {
    const { url, admin } = await serve()
    await database?.query({ text: 'alter table books rename title to name', values: [] })
    expect((await fetch(`${url}/api/books/`)).status).toBe(503)
    const answer = await waitUntil(
      () => ready(admin),
      ({ status }) => status !== 200,
    )
    expect(answer.body.problems).toEqual([
      { check: 'schema', detail: 'these tables do not fit the configuration: books' },
    ])
    expect((await scrape(admin)).get('snippetctl_drifted_tables')).toBe(1)
  })
})

onServer('the admin port of a server with workers', () => {
  const ask = async (url: string, amount: number) => {
    const clients = await Promise.all(Array.from({ length: amount }, () => connectClient(url)))
    const pids = await Promise.all(clients.map((client: Client) => client.pid()))
    for (const client of clients) client.close()
    return new Set(pids)
  }
  /** The number of requests, once it is at least this: a busy worker may answer too late, and then its last counts are shown. */
  const counted = (admin: string, least: number): Promise<number> =>
    waitUntil(
      async () => (await scrape(admin)).get(requests('GET', 'pid', '2xx')) ?? 0,
      (count) => count >= least,
    )

  test('adds up the counts of all workers, and keeps those of replaced ones', async () => {
    const { url, admin, child, logged, stop } = await serve('--workers', '2')
    const before = new Set<number>()
    let asked = 0
    // On a busy machine, one worker may accept all connections for some time.
    await waitUntil(async () => {
      for (const pid of await ask(url, 8)) before.add(pid)
      asked += 8
      return before.size === 2
    })
    // A busy worker may answer too late.
    const answer = await waitUntil(
      () => ready(admin),
      ({ body }) => body.problems.length === 0,
    )
    expect(answer).toMatchObject({ status: 200, body: { ready: true } })
    expect(await counted(admin, asked)).toBe(asked)
    await ask(url, 4)
    child.kill('SIGUSR2')
    await logged('replaced')
    expect(await counted(admin, asked + 4)).toBe(asked + 4)
    const after = await ask(url, 4)
    expect([...after].filter((pid) => before.has(pid))).toEqual([])
    expect(await counted(admin, asked + 8)).toBe(asked + 8)
    expect((await scrape(admin)).get('snippetctl_database_connections_max')).toBeGreaterThan(1)
    const { code, stdout } = await stop()
    expect(code).toBe(0)
    expect(stdout.match(/"admin_listening"/g)).toHaveLength(1)
  })

  test('is ready while one worker is, and names the ones that are not', async () => {
    const { url, admin } = await serve('--workers', '2')
    const [stopped = 0] = await ask(url, 8)
    process.kill(stopped, 'SIGSTOP')
    const { status, body } = await ready(admin)
    process.kill(stopped, 'SIGCONT')
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        ready: true,
        problems: [{ check: 'worker', detail: 'the worker does not answer', worker: expect.any(Number) }],
      },
    })
  })
})
