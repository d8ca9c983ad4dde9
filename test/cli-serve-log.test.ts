import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { makeProject, PLUGGED, type Project, type Serving, startServe } from './support/cli.js'

const PAD = 'x'.repeat(10_000)

/** A plugin that logs so much in one request that it waits, because it is not read. */
const PLUGIN = `
export default (app) => {
  app.route('GET', '/one/', 'one', () => ({ status: 200, body: {} }))
  app.route('GET', '/fail/', 'fail', () => { throw new Error('${PAD}') })
}
`

let project: Project
let serving: Serving | undefined

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': PLUGIN })
})

afterEach(() => serving?.stop('SIGKILL'))
afterAll(() => project.remove())

// Nothing listens on port 1, so that no database has to be started.
const start = async () => {
  const started = await startServe(['--json'], {
    cwd: project.folder,
    env: { DATABASE_URL: 'postgres://app@127.0.0.1:1/app' },
  })
  serving = started
  return started
}

describe('the log of serve', () => {
  test('may lose its reader: the server goes on, says so once, and drains', async () => {
    const { url, child, output, stop } = await start()
    child.stdout.destroy()
    for (let index = 0; index < 20; index += 1) expect((await fetch(`${url}/api/one/`)).status).toBe(200)
    const { code } = await stop()
    expect(code).toBe(0)
    expect(output.stderr.match(/nobody reads stdout any more: the server goes on/g)).toHaveLength(1)
    expect(output.stderr).toMatch(/at least \d+ lines of the log lost\n$/)
  })

  test('drops and counts what a slow reader leaves, and says how much when it is read again', async () => {
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

test('a command whose output nobody reads goes on to its own exit code, quietly', async () => {
  await project.write('broken.yaml', PLUGGED.replace('bigint', 'bigitn'))
  const command = [resolve('bin', 'snippetctl.js'), 'check', '--config', 'broken.yaml']
  const child = spawn(process.execPath, command, { cwd: project.folder, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  child.stderr.on('data', (text: Buffer) => expect(String(text)).toBe(''))
  expect(await once(child, 'close')).toEqual([1, null])
})
