import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runCli,
  runInHost,
  type Serving,
  spawnServe,
  startServe,
} from '../../support/cli.js'
import { untilPrinted } from '../../support/until-printed.js'

// The first start of an embedded database takes seconds, and many on a busy machine.

/** A plugin whose requests end when the server is told to stop, and one whose requests never end. */
const PLUGIN = `
const say = (event) => console.log(JSON.stringify({ event }))
export default (app) => {
  app.route('GET', '/held/', 'held', () => {
    say('held')
    return new Promise((answer) => process.once('SIGTERM', () => answer({ status: 200, body: { held: true } })))
  })
  app.route('GET', '/stuck/', 'stuck', () => {
    say('stuck')
    return new Promise(() => {})
  })
  app.route('GET', '/late/', 'late', () => {
    say('late')
    return new Promise((answer) => process.once('SIGTERM', () => {
      setTimeout(() => { throw new Error('nobody caught this late') })
      setTimeout(() => answer({ status: 204 }), 200)
    }))
  })
  app.route('GET', '/broken/', 'broken', () => {
    setImmediate(() => { throw new Error('nobody caught this') })
    return { status: 200, body: {} }
  })
  app.onClose(() => say('closed'))
}
`

let project: Project
let serving: Serving | undefined

beforeAll(async () => {
  project = await makeProject({
    'resources.yaml': `${BOOKS}mounts: [{ path: /again }]\nplugins:\n  - ./plugin.js\n`,
    'plain.yaml': BOOKS,
    'plugin.js': PLUGIN,
    'package.json': '{"type":"module"}',
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  })
})

afterEach(async () => {
  await serving?.stop('SIGKILL')
  serving = undefined
})

afterAll(() => project.remove())

async function serve(...args: readonly string[]): Promise<Serving> {
  serving = await startServe(args, { cwd: project.folder })
  return serving
}

describe('serve on the embedded database', () => {
  test('applies the migrations, serves, and stops with 0 on SIGTERM', async () => {
    const server = await serve()
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const { id } = (await (await post(server.url)).json()) as { id: number }
    expect(await (await fetch(`${server.url}/api/books/`)).json()).toEqual([{ id, title: 'Dune' }])
    expect(await server.logged('database')).toMatchObject({ msg: expect.stringContaining(' in .snippetctl/pg (') })
    expect(await server.logged('migrated')).toMatchObject({ level: 'info', migration: '0001_create_books' })
    expect(await server.logged('listening')).toMatchObject({ level: 'info', url: server.url, resources: 1, routes: 16 })
    expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  test('keeps records, and applies migrations once', async () => {
    const first = await serve()
    await post(first.url)
    await first.stop('SIGINT')
    const second = await serve()
    expect(((await (await fetch(`${second.url}/api/books/`)).json()) as unknown[]).length).toBeGreaterThan(0)
    expect((await second.stop()).stdout).not.toContain('"migrated"')
  })

  test('rejects a second process and names the pid of the first', async () => {
    const server = await serve()
    for (const args of [
      ['serve', '--port', '0'],
      ['db', 'reset', '--name', '.snippetctl/pg'],
    ]) {
      const { code, stderr } = await runCli(args, { cwd: project.folder })
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: \.snippetctl\/pg is in use by process \d+/)
      expect(stderr).toContain(String(server.child.pid))
      expect(stderr).toContain('= help:')
    }
  })

  test('finishes the requests in progress before it stops (promise 20)', async () => {
    const server = await serve()
    const answer = fetch(`${server.url}/api/held/`)
    await server.logged('held')
    const ended = server.stop()
    expect(await (await answer).json()).toEqual({ held: true })
    expect(await ended).toMatchObject({ code: 0 })
  })

  test.each([
    { signal: 'SIGTERM', code: 143 },
    { signal: 'SIGINT', code: 130 },
  ] as const)('stops at once with $code on a second $signal', async ({ signal, code }) => {
    const server = await serve()
    fetch(`${server.url}/api/stuck/`).catch(() => {})
    await server.logged('stuck')
    server.child.kill(signal)
    await server.logged('stopping')
    expect(await server.stop(signal)).toMatchObject({ code })
  })

  test('stops with 0 if it is stopped before it listens', async () => {
    const started = spawnServe([], { cwd: project.folder })
    await started.logged('database')
    expect(await started.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  test('logs an uncaught error once, and stops with 1', async () => {
    const server = await serve()
    await fetch(`${server.url}/api/broken/`)
    const { code, stdout } = await server.ended
    expect(code).toBe(1)
    expect(stdout.match(/"crash"/g)).toHaveLength(1)
    expect(stdout).toContain('nobody caught this')
  })

  test('logs an uncaught error while it stops, and finishes the requests in progress', async () => {
    const server = await serve()
    const answer = fetch(`${server.url}/api/late/`)
    await server.logged('late')
    const ended = server.stop()
    expect((await answer).status).toBe(204)
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('nobody caught this late') })
  })

  test('warns about an address that others can reach', async () => {
    const server = await serve('--host', '0.0.0.0')
    expect(await server.logged('open_host')).toMatchObject({ level: 'warn', host: '0.0.0.0' })
  })
})

describe('serve, started by a shell that does not forward signals,', () => {
  const startInShell = async (env: Readonly<Record<string, string>>) => {
    // Something has to come after it, or the shell would become the command.
    const script = `'${process.execPath}' '${resolve('bin', 'snippetctl.js')}' serve --port 0; true`
    const shell = spawn('sh', ['-c', script], {
      cwd: project.folder,
      env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: 'postgres://app@127.0.0.1:1/app', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let stdout = ''
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    await untilPrinted(shell.stdout, () => stdout.includes('"listening"'))
    return { shell, closed: once(shell.stdout, 'close'), read: () => stdout }
  }

  test('stops with the shell if npx has started it', async () => {
    const { shell, closed, read } = await startInShell({ npm_command: 'exec' })
    shell.kill('SIGTERM')
    await closed
    expect(read()).toContain('"event":"stopping"')
  })
})

/** Without the plugin, which prints to the stdout of the process. */
const PLAIN = ['serve', '--port', '0', '--config', 'plain.yaml']

describe('serve rejects', () => {
  test('a port in use (promise 02)', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const outcome = await runCli(['serve', '--port', String(port)], { cwd: project.folder })
    other.close()
    expect(outcome.code).toBe(2)
    expect(outcome.stderr).toContain(`error: port ${port} is already in use\n  = help: choose another`)
    expect(outcome.stdout).not.toContain('listening')
    expect(outcome.stdout).toContain('"event":"closed"')
  })

  test.each([
    ['HOST', '--host'],
    ['SNIPPETCTL_ADMIN_HOST', '--admin-host'],
  ])('an empty %s, which would be every address', async (variable, option) => {
    const { code, stderr } = await runInHost(['serve', '--port', '0'], { cwd: project.folder, env: { [variable]: '' } })
    expect(code).toBe(2)
    expect(stderr).toContain(option)
    expect(stderr).toContain('An address must not be empty; 0.0.0.0 is every address.')
  })

  test('an address of another machine', async () => {
    const { code, stderr } = await runInHost([...PLAIN, '--host', '192.0.2.1'], { cwd: project.folder })
    expect(code).toBe(2)
    expect(stderr).toContain('error: this machine has no address `192.0.2.1`')
  })

  test('a configuration without migrations', async () => {
    const bare = await makeProject({ 'resources.yaml': BOOKS })
    const { code, stderr, stdout } = await runInHost(['serve', '--port', '0'], { cwd: bare.folder })
    await bare.remove()
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: .*books/)
    expect(stderr).toContain('= help: write the missing migration: snippetctl migrate plan --write NAME')
    expect(stdout).not.toContain('listening')
  })

  test('a database without the tables that others make, with the first ten of them and the help for them alone', async () => {
    const models = Array.from(
      { length: 12 },
      (_, at) => `  shelf${at}: { fields: { id: { type: bigint, primary_key: true } } }\n`,
    ).join('')
    const own = '  book: { managed: true, fields: { id: { type: bigint, primary_key: true } } }\n'
    const elsewhere = await makeProject({
      'resources.yaml': `version: 1\ndatabase: { managed: false }\nmodels:\n${models}${own}resources: {}\n`,
    })
    await runInHost(['migrate', 'plan', '--write', 'first'], { cwd: elsewhere.folder })
    const { code, stderr } = await runInHost(['serve', '--port', '0'], { cwd: elsewhere.folder })
    await elsewhere.remove()
    expect(code).toBe(2)
    expect(stderr.match(/is missing; migrations do not change it/g)).toHaveLength(10)
    expect(stderr.split('; and ')[1]).toBe(
      [
        '2 more',
        '  = help: if the tables of other programs have changed, change the configuration too: snippetctl introspect --update',
        '  = help: if they are missing, check that `DATABASE_URL` names their database; migrations create the tables of models with `managed: true`',
        '',
      ].join('\n'),
    )
  })

  test.each([
    { url: 'mysql://app:hunter2@db/app', says: 'malformed' },
    { url: '', says: 'malformed' },
    { url: 'postgres://app:hunter2@db:port/app', says: 'malformed' },
  ])('the URL $url without showing its password', async ({ url, says }) => {
    const outcome = await runInHost(PLAIN, { cwd: project.folder, env: { DATABASE_URL: url } })
    expect(outcome.code).toBe(2)
    expect(outcome.stderr).toContain(says)
    expect(outcome.stdout + outcome.stderr).not.toContain('hunter2')
  })
})

describe('serve without its database', () => {
  test('starts, reports it, responds with 503 and stops on SIGTERM', async () => {
    const env = { DATABASE_URL: 'postgres://app:hunter2@127.0.0.1:1/app' }
    serving = await startServe([], { cwd: project.folder, env })
    expect(await serving.logged('database_away')).toMatchObject({ level: 'warn' })
    const response = await fetch(`${serving.url}/api/books/`)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).not.toBeNull()
    const outcome = await serving.stop()
    expect(outcome).toMatchObject({ code: 0, stderr: '' })
    expect(outcome.stdout).not.toContain('hunter2')
  })
})

function post(url: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/api/books/`, { method: 'POST', headers, body: JSON.stringify({ title: 'Dune' }) })
}
