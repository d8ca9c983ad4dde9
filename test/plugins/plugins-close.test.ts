import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Plugin, Problem } from '../../src/index.js'
import { createService, loadApplication, type Service } from '../../src/internal.js'
import type { Limits } from '../../src/http/connections/limits.js'
import { makeProject, PLUGGED, type Project, runCli } from '../support/cli.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { dial } from '../support/wire.js'
import { waitUntil } from '../support/wait-until.js'

const CLOSINGS = `export const events = []
export default (app) => {
  app.onClose(() => new Promise((settle) => setTimeout(settle, 5)).then(() => events.push('first')))
  app.onClose(() => new Promise(() => {}))
  app.onClose(() => events.push('second'))
  app.onClose(() => { throw new Error('cannot say goodbye') })
}
`
declare const Closings: { readonly default: Plugin; readonly events: readonly string[] }

let project: Project
let database: TestDatabase
const services: Service[] = []

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': CLOSINGS })
  database = await openTestDatabase()
})

afterEach(async () => {
  for (const service of services.splice(0)) await service.drain()
})

afterAll(async () => {
  await database.close()
  await project.remove()
})

function tryToLoad(plugin: Plugin) {
  const file = resolve(project.folder, 'resources.yaml')
  return loadApplication({ file, env: {}, importModule: async () => ({ default: plugin }) })
}

async function load(plugin: Plugin) {
  const loaded = await tryToLoad(plugin)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  return loaded.app
}

type Entry = Readonly<Record<string, unknown>>

function keepLog() {
  const logged: Entry[] = []
  return { logged, log: { info: () => {}, error: (entry: Entry) => void logged.push(entry) } }
}

async function serve(plugin: Plugin, limits: Partial<Limits> = {}) {
  const { logged, log } = keepLog()
  const service = createService(await load(plugin), database, { log, limits })
  services.push(service)
  const { url } = await service.listen({ port: 0, host: '127.0.0.1' })
  return { service, url, logged }
}

/** A plugin whose stream, and whose work after a commit, wait until they are let go. */
function gatedPlugin() {
  const events: string[] = []
  const gates = { stream: () => {}, commit: () => {} }
  const streamed = new Promise<void>((settle) => (gates.stream = settle))
  const committed = new Promise<void>((settle) => (gates.commit = settle))
  const plugin: Plugin = (app) => {
    async function* pieces() {
      yield `["${'x'.repeat(20_000)}"`
      await streamed
      yield ',1]'
    }
    app.route('GET', '/stream/', 'stream', () => ({ status: 200, stream: pieces() }))
    app.route('GET', '/later/', 'later', async (context) => {
      await context.transaction(async (inside) => {
        inside.afterCommit(async () => {
          await committed
          events.push('committed')
        })
      })
      return { status: 200, body: {} }
    })
    app.onClose(() => void events.push('closed'))
  }
  return { events, gates, plugin }
}

/** A plugin whose handler and stream go on until they are let go, whatever became of their requests. */
function stubbornPlugin() {
  const events: string[] = []
  const gate = { open: () => {} }
  const opened = new Promise<void>((settle) => (gate.open = settle))
  const plugin: Plugin = (app) => {
    async function* pieces() {
      events.push('begun')
      try {
        for (;;) yield 'x'.repeat(100_000)
      } finally {
        await opened
        events.push('ended')
      }
    }
    app.route('GET', '/stream/', 'stream', () => ({ status: 200, stream: pieces() }))
    app.route('GET', '/handler/', 'handler', async () => {
      events.push('begun')
      await opened
      events.push('ended')
      return { status: 200, body: {} }
    })
    app.onClose(() => void events.push('closed'))
  }
  return { events, gate, plugin }
}

/** Waits until the server has noticed that its clients have left. */
async function untilLeft({ server }: Service): Promise<void> {
  const count = () =>
    new Promise<number>((settle, reject) => {
      server.getConnections((error, connections) => (error ? reject(error) : settle(connections)))
    })
  await waitUntil(async () => (await count()) === 0)
}

describe('onClose', () => {
  test('runs after the last response, the last registered first, with the database still open', async () => {
    const events: string[] = []
    let arrived = () => {}
    const arrival = new Promise<void>((settle) => (arrived = settle))
    const { service, url } = await serve((app) => {
      app.route('GET', '/slow/', 'slow', async () => {
        arrived()
        await delay(50)
        events.push('answered')
        return { status: 200, body: {} }
      })
      app.onClose(async () => {
        await database.query({ text: 'select 1', values: [] })
        events.push('first')
      })
      app.onClose(async () => {
        await delay(10)
        events.push('second')
      })
    })
    const slow = fetch(`${url}/api/slow/`)
    await arrival
    await Promise.all([service.drain(), service.drain(), slow])
    expect(events).toEqual(['answered', 'second', 'first'])
  })

  test('logs errors and timeouts with their places, and runs everything else', async () => {
    const { default: plugin, events } = (await import(resolve(project.folder, 'plugin.mjs'))) as typeof Closings
    const { service, logged } = await serve(plugin)
    await service.drain()
    expect(events).toEqual(['second', 'first'])
    const [failed, late] = logged
    const entry = { event: 'failure', type: 'on_close', source: 'plugin ./plugin.mjs' }
    expect(failed).toMatchObject({ ...entry, place: 'plugin.mjs:6' })
    expect(late).toMatchObject({ ...entry, place: 'plugin.mjs:4' })
    expect(String(failed?.['cause'])).toBe('Error: cannot say goodbye')
    expect(String(late?.['cause'])).toBe('Error: not done after 2000 ms')
    expect(logged).toHaveLength(2)
  })

  test('runs once for each served version', async () => {
    const events: string[] = []
    const version =
      (name: string): Plugin =>
      (app) =>
        app.onClose(() => void events.push(name))
    const { service } = await serve(version('one'))
    service.replace(await load(version('two')))
    await service.drain()
    await service.drain()
    expect(events.sort()).toEqual(['one', 'two'])
  })

  test('waits for requests on a replaced version, their streams and after-commit tasks', async () => {
    const { gates, events, plugin } = gatedPlugin()
    const { service, url } = await serve(plugin)
    const stream = await fetch(`${url}/api/stream/`)
    const later = await fetch(`${url}/api/later/`)
    expect([stream.status, await later.text()]).toEqual([200, '{}'])
    service.replace(await load(() => {}))
    expect((await fetch(`${url}/api/stream/`)).status).toBe(404)
    gates.commit()
    await waitUntil(() => events.includes('committed'))
    await delay(20)
    expect(events).toEqual(['committed'])
    gates.stream()
    expect(await stream.json()).toHaveLength(2)
    await waitUntil(() => events.includes('closed'))
    await service.drain()
    expect(events).toEqual(['committed', 'closed'])
  })

  test('waits a limited time for requests on a replaced version', async () => {
    const { gates, events, plugin } = gatedPlugin()
    const { service, url } = await serve(plugin, { replacedTimeout: 50 })
    const stream = await fetch(`${url}/api/stream/`)
    service.replace(await load(() => {}))
    await waitUntil(() => events.includes('closed'))
    gates.stream()
    expect(await stream.json()).toHaveLength(2)
    await service.drain()
  })

  test.each([
    ['handler', 'is replaced'],
    ['handler', 'stops'],
    ['stream', 'is replaced'],
    ['stream', 'stops'],
  ])('waits for the %s of a client that has left, when the service %s', async (route, end) => {
    const { gate, events, plugin } = stubbornPlugin()
    const { service, url } = await serve(plugin, { handlerTimeout: 100 })
    const client = dial(url)
    client.write(`GET /api/${route}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    await waitUntil(() => events.includes('begun'))
    client.destroy()
    await untilLeft(service)
    if (end === 'stops') void service.drain()
    else service.replace(await load(() => {}))
    await delay(20)
    expect(events).toEqual(['begun'])
    gate.open()
    await waitUntil(() => events.includes('closed'))
    expect(events).toEqual(['begun', 'ended', 'closed'])
  })

  test('waits for a handler whose request timed out with 504', async () => {
    const { gate, events, plugin } = stubbornPlugin()
    const { service, url } = await serve(plugin, { handlerTimeout: 40 })
    expect((await fetch(`${url}/api/handler/`)).status).toBe(504)
    service.replace(await load(() => {}))
    await delay(20)
    expect(events).toEqual(['begun'])
    gate.open()
    await waitUntil(() => events.includes('closed'))
    expect(events).toEqual(['begun', 'ended', 'closed'])
  })

  test("logs a problem with the plugin's line", async () => {
    const { service, logged } = await serve((app) => {
      app.onClose(function sayGoodbye() {
        throw new Problem('not_found')
      })
    })
    await service.drain()
    const [{ cause } = {}] = logged
    expect(cause).toBeInstanceOf(Problem)
    expect((cause as Error).stack).toMatch(/^Problem: Not found\n +at .*sayGoodbye.*plugins-close/)
  })

  test.each([
    ['the configuration is invalid', { NODE_ENV: 'production' }],
    ['the database is rejected', { DATABASE_URL: 'nonsense' }],
  ])('runs if `serve` does not start because %s', async (_, env) => {
    await project.write(
      'serve/plugin.mjs',
      `export default (app) => {
        const timer = setInterval(() => {}, 60_000)
        app.onClose(() => { clearInterval(timer); console.log('closed') })
        if (process.env.NODE_ENV === 'production') throw new Error('out of luck')
      }
`,
    )
    await project.write('serve/resources.yaml', PLUGGED)
    const { code, stdout } = await runCli(['serve', '--port', '0'], { cwd: resolve(project.folder, 'serve'), env })
    expect([code, stdout]).toEqual([2, expect.stringMatching(/^closed\n{[^\n]*"event":"serve_failed"[^\n]*}\n$/)])
  })

  test('runs for a version that is loaded but not served', async () => {
    const events: string[] = []
    const { log } = keepLog()
    const broken = await tryToLoad((app) => {
      app.onClose(() => void events.push('rejected'))
      throw new Error('out of luck')
    })
    expect(broken.ok).toBe(false)
    await broken.close(log)
    const sound = await tryToLoad((app) => app.onClose(() => void events.push('unserved')))
    await sound.close(log)
    expect(events).toEqual(['rejected', 'unserved'])
  })
})
