import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, withClient } from '../../bench/cluster.js'
import { serverUser } from '../../test/support/servers.js'
import { runJest } from '../jest.js'
import { findTool } from '../tools.js'
import { type Arena, atLeast, atMost, type Figure, format, trial } from '../trial.js'
import { fuzzed } from './fuzz.js'

interface Amount {
  readonly requests: number
  /** Whether the request tests also run through it. */
  readonly suite: boolean
}

/** Files of the suite, which needs databases of its own; tests that open sessions on purpose are not among them. */
const SUITE = ['spec-set', 'list-parameters', 'body-values', 'page-cursors', 'counts.test', 'scoped-models'].concat([
  'json-merge-patch',
  'library-application',
  'handlers-and-records',
  'data-round-trip',
  'long-links',
])

/** A transaction pooler between the service and PostgreSQL, with fewer connections than the service has. */
export const pooler = trial<Amount>({
  id: 'T16',
  title: 'pgbouncer in transaction mode changes no response',
  stores: ['postgres'],
  tiers: {
    commit: { requests: 1_000, suite: false },
    nightly: { requests: 20_000, suite: true },
    release: { requests: 200_000, suite: true },
  },
  run: async (arena, { requests, suite }) => {
    const url = await startPooler(arena, await arena.database())
    const found = await fuzzed(arena, await arena.serve({ url, env: { DATABASE_PREPARE: 'off' } }), requests)
    return suite ? [...found, ...(await runSuite(arena, url))] : found
  },
})

async function runSuite(arena: Arena, url: string): Promise<readonly Figure[]> {
  const env = { TEST_DATABASE_URL: new URL('/postgres', url).href, SNIPPETCTL_TEST_PREPARE: 'off' }
  const { passed, failed } = await runJest(arena, { files: SUITE, env })
  for (const name of failed.slice(0, 20)) arena.say(name)
  return [
    atMost(failed.length, 0, `${failed.length} tests of the suite failed`),
    atLeast(passed, 200, `${format(passed)} passed`),
  ]
}

/** Starts a pooler of three connections; resolves with the URL of the same database behind it. */
async function startPooler(arena: Arena, target: string): Promise<string> {
  const program = findTool('pgbouncer', arena.tier)
  const { port: to, pathname } = new URL(target)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'torture-pooler-'))
  arena.later(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'pgbouncer.ini')
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${to}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 3',
    'ignore_startup_parameters = extra_float_digits',
  ]
  // With this kind of authentication every client is one user, who is named with the database.
  writeFileSync(file, settings.join('\n').replace(`port=${to}`, `port=${to} user=postgres`))
  const owner = serverUser()
  if (owner) for (const path of [folder, file]) chownSync(path, owner.uid, owner.gid)
  const child = spawn(program, [file], { ...owner, cwd: folder, stdio: 'ignore' })
  arena.later(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  })
  const url = `postgres://postgres@127.0.0.1:${port}${pathname}`
  for (let attempt = 0; ; attempt++) {
    try {
      await withClient(url, (client) => client.query('select 1'))
      return url
    } catch (error) {
      if (attempt === 100) throw error
      await delay(50)
    }
  }
}
