import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createRequestRenderer } from '../../../cli/serve/log/request-entry.js'
import { makeProject, PLUGGED, type Project, type Started, serveInHost, startServe } from '../../support/cli.js'
import { untilPrinted } from '../../support/until-printed.js'

const PAD = 'x'.repeat(10_000)

/** Text that forges a line and commands a terminal. */
const HOSTILE = 'a\u001b[31mb\u009b2Jc\nlevel: info\u2028d\u202ee\u007f'
const COMMANDS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

/** A plugin that logs so much in one request that it waits, because it is not read. */
const PLUGIN = `
export default (app) => {
  app.route('GET', '/one/', 'one', () => ({ status: 200, body: {} }))
  let number = 0
  app.route('GET', '/fail/', 'fail', () => { throw new Error('${PAD}' + (number += 1)) })
  app.route('GET', '/again/', 'again', () => { throw new Error('always the same') })
  app.route('GET', '/hostile/', 'hostile', () => { throw new Error(${JSON.stringify(HOSTILE)}) })
}
`

let project: Project
let serving: Pick<Started, 'stop'> | undefined

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': PLUGIN })
})

afterEach(() => serving?.stop('SIGKILL'))
afterAll(() => project.remove())

/** `script` of util-linux gives a command a terminal. */
const atTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0 ? test : test.skip

function entriesOf(stdout: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = stdout.trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
}

// Nothing listens on port 1, so that no database has to be started.
const env = { DATABASE_URL: 'postgres://app@127.0.0.1:1/app' }

const start = async () => {
  const started = await startServe(['--json'], { cwd: project.folder, env })
  serving = started
  return started
}

/** Serves in the process that runs commands. */
const startHere = async (...args: readonly string[]) => {
  const started = await serveInHost(['--json', ...args], { cwd: project.folder, env })
  serving = started
  return started
}

describe('the log of serve', () => {
  test('survives the loss of its reader, reports it once, and drains', async () => {
    const { url, child, output, stop } = await start()
    child.stdout.destroy()
    for (let index = 0; index < 20; index += 1) expect((await fetch(`${url}/api/one/`)).status).toBe(200)
    const { code } = await stop()
    expect(code).toBe(0)
    expect(output.stderr.match(/stdout was closed: the server keeps running/g)).toHaveLength(1)
    expect(output.stderr).toMatch(/dropped at least \d+ log lines\n$/)
  })

  test('repeats a message at most once a second, with a count', async () => {
    const { url, stop } = await start()
    for (let index = 0; index < 20; index += 1) expect((await fetch(`${url}/api/again/`)).status).toBe(500)
    const failures = entriesOf((await stop()).stdout).filter(({ event }) => event === 'failure')
    expect(failures.length).toBeLessThan(20)
    expect(failures.reduce((sum, entry) => sum + Number(entry['repeated'] ?? 1), 0)).toBe(20)
    expect(failures.at(-1)).toMatchObject({ route: 'again', cause: { msg: 'always the same' } })
  })

  test('reports suppressed messages after a second, not only at the end', async () => {
    const { url, output, child } = await startHere()
    for (let index = 0; index < 3; index += 1) await fetch(`${url}/api/again/`)
    await untilPrinted(child.stdout, () => output.stdout.includes('"repeated":'))
  })

  test.each([
    { which: 'all', logged: ['one', 'one', 'again'] },
    { which: 'failures', logged: ['again'] },
    { which: 'off', logged: [] },
  ])('contains the requests that --access-log $which selects, and every other entry', async ({ which, logged }) => {
    const { url, stop } = await startHere('--access-log', which)
    await fetch(`${url}/api/one/`)
    await fetch(`${url}/api/one/`, { method: 'HEAD' })
    await fetch(`${url}/api/again/`)
    const entries = entriesOf((await stop()).stdout)
    expect(entries.filter(({ event }) => event === 'request').map(({ route }) => route)).toEqual(logged)
    expect(entries.filter(({ event }) => event === 'failure')).toHaveLength(1)
  })

  test('contains the listed properties of a request, and no text of a client', async () => {
    const { url, stop } = await startHere()
    const secret = 'swordfish'
    await fetch(`${url}/api/books/7/?q=${secret}`, {
      method: 'PUT',
      headers: { authorization: secret, 'content-type': 'application/json', 'x-request-id': 'order-4711' },
      body: JSON.stringify({ [secret]: secret }),
    })
    const { stdout } = await stop()
    expect(stdout).not.toContain(secret)
    const request = entriesOf(stdout).find(({ event }) => event === 'request')
    expect(request).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      event: 'request',
      request_id: 'order-4711',
      method: 'PUT',
      route: 'book-detail',
      template: '/api/books/{id}/',
      path: '/api/books/7/',
      status: expect.any(Number),
      ms: expect.any(Number),
    })
  })

  test('contains the path of an unmatched request, shortened and without its query', async () => {
    const { url, logged, stop } = await startHere()
    await fetch(`${url}/nowhere/${'b'.repeat(5000)}?q=swordfish`)
    expect((await logged('request'))['path']).toMatch(/^\/nowhere\/b{991}\.\.\.$/)
    expect((await stop()).stdout).not.toContain('swordfish')
  })

  test('writes request entries like JSON.stringify, whatever the path contains', async () => {
    const { url, logged, output } = await startHere()
    const path = String.raw`/nowhere/"quoted"\back\u0041`
    get(url, { path })
    const entry = await logged('request')
    expect(entry['path']).toBe(path)
    expect(output.stdout).toContain(`${JSON.stringify(entry)}\n`)
  })

  test('escapes characters that control a terminal or end a line', async () => {
    const { url, logged, output } = await startHere()
    await fetch(`${url}/api/hostile/`)
    expect(await logged('failure')).toMatchObject({ cause: { msg: HOSTILE } })
    expect(output.stdout.replaceAll('\n', '')).not.toMatch(COMMANDS)
    expect(output.stdout).toContain('a\\u001b[31mb\\u009b2Jc\\nlevel: info\\u2028d\\u202ee\\u007f')
  })

  atTerminal('writes them out at a terminal too, where a stack keeps its lines', async () => {
    const command = `exec ${process.execPath} ${resolve('bin', 'snippetctl.js')} serve --port 0 --no-color`
    const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: project.folder,
      env: { PATH: process.env['PATH'], DATABASE_URL: 'postgres://app@127.0.0.1:1/app' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let text = ''
    terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    const until = async (wanted: RegExp) => {
      await untilPrinted(terminal.stdout, () => wanted.test(text))
      return wanted.exec(text)?.[1] ?? ''
    }
    const url = await until(/API +(http:\S+)\r\n/)
    await fetch(`${url}/api/hostile/`)
    await until(/GET +hostile +500/)
    terminal.kill('SIGTERM')
    await once(terminal, 'close')
    expect(text).toContain(
      'error: failure: internal: a\\u001b[31mb\\u009b2Jc\\u000alevel: info\\u2028d\\u202ee\\u007f\r\n',
    )
    expect(text).toMatch(/\r\n +at /)
    expect(text).toContain(`${url}/docs/`)
    expect(text.replaceAll('\r\n', '')).not.toMatch(COMMANDS)
  })

  test('drops and counts lines for a slow reader, and reports the number later', async () => {
    const { url, child, logged } = await start()
    child.stdout.pause()
    // Each writes the message and the stack; a megabyte waits, and a pipe holds some.
    for (let index = 0; index < 150; index += 1) expect((await fetch(`${url}/api/fail/`)).status).toBe(500)
    child.stdout.resume()
    const { lines, level } = await logged('log_lost')
    expect(level).toBe('warn')
    expect(Number(lines)).toBeGreaterThan(0)
    await fetch(`${url}/api/one/`)
    await logged('request')
  })
})

test('a command without a reader of its output continues quietly to its own exit code', async () => {
  await project.write('broken.yaml', PLUGGED.replace('bigint', 'bigitn'))
  const command = [resolve('bin', 'snippetctl.js'), 'check', '--config', 'broken.yaml']
  const child = spawn(process.execPath, command, { cwd: project.folder, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  child.stderr.on('data', (text: Buffer) => expect(String(text)).toBe(''))
  expect(await once(child, 'close')).toEqual([1, null])
})

test('entries of requests in JSON escape invisible characters of a name', () => {
  const line = createRequestRenderer()('info', { event: 'request', subject: HOSTILE })
  expect(line).not.toMatch(COMMANDS)
  expect(JSON.parse(line)).toMatchObject({ subject: HOSTILE })
})
