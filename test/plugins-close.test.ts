import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createService, loadApplication, type Plugin } from '../src/index.js'
import { makeProject, PLUGGED, type Project } from './support/cli.js'
import { openTestDatabase, type TestDatabase } from './support/database.js'

let project: Project
let database: TestDatabase

beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': '' })
  database = await openTestDatabase()
})

afterAll(async () => {
  await database.close()
  await project.remove()
})

async function load(plugin: Plugin) {
  const file = resolve(project.folder, 'resources.yaml')
  const loaded = await loadApplication({ file, env: {}, importModule: async () => ({ default: plugin }) })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  return loaded.app
}

type Entry = Readonly<Record<string, unknown>>

async function serve(plugin: Plugin) {
  const logged: Entry[] = []
  const log = { info: () => {}, error: (entry: Entry) => void logged.push(entry) }
  const service = createService(await load(plugin), database, { log })
  const { url } = await service.listen({ port: 0, host: '127.0.0.1' })
  return { service, url, logged }
}

describe('onClose', () => {
  test('runs after the last answer, the last registered first, with the database still open', async () => {
    const events: string[] = []
    const { service, url } = await serve((app) => {
      app.route('GET', '/slow/', 'slow', async () => {
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
    await delay(20)
    await Promise.all([service.drain(), service.drain(), slow])
    expect(events).toEqual(['answered', 'second', 'first'])
  })

  test('logs an error and what never ends, and goes on', async () => {
    const events: string[] = []
    const { service, logged } = await serve((app) => {
      app.onClose(() => new Promise(() => {}))
      app.onClose(() => void events.push('done'))
      app.onClose(() => {
        throw new Error('cannot say goodbye')
      })
    })
    await service.drain()
    expect(events).toEqual(['done'])
    const [failed, late] = logged
    expect(failed).toMatchObject({ event: 'failure', type: 'on_close', source: 'plugin ./plugin.mjs' })
    expect(String(failed?.['cause'])).toBe('Error: cannot say goodbye')
    expect(String(late?.['cause'])).toBe('Error: not done after 2000 ms')
    expect(logged).toHaveLength(2)
  })

  test('runs once for each version that was served', async () => {
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
})
