import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../bench/cluster.js'
import { untilAnswered } from '../client.js'
import { closedLoop, mixedQuestions } from '../load.js'
import { copyService } from '../serve.js'
import { findTool } from '../tools.js'
import { type Arena, atMost, type Figure, Skipped, format, trial } from '../trial.js'
import { RECORDS } from '../writers.js'

interface Amount {
  readonly rounds: number
}

const CONNECTIONS = 64
/** Responds within a second, and with 503 once the server is told to stop. */
const READY = '/readyz'

/** Where a server listens, and where it says how it is. */
interface Place {
  readonly port: number
  readonly admin: number
}

/**
 * Servers are replaced one by one under load: two behind a balancer, and the two workers of one. Each round brings the other version
 * of the project: the later one, whose migration only adds, and then the earlier one on the database of the later.
 */
export const rolling = trial<Amount>({
  id: 'T5',
  title: 'no request fails while servers are replaced one by one',
  stores: ['postgres'],
  tiers: { commit: { rounds: 2 }, nightly: { rounds: 10 }, release: { rounds: 100 } },
  run: async (arena, { rounds }) => [...(await behindBalancer(arena, rounds)), ...(await byWorkers(arena, rounds))],
})

/** A load that continues until the work is done; returns the figures of failures. */
async function during(arena: Arena, port: number, name: string, work: () => Promise<void>): Promise<Figure> {
  let over = false
  let sent = 0
  const failures: Record<string, number> = {}
  const load = (async () => {
    while (!over) {
      const report = await closedLoop({ port, seconds: 0.5, ...mixedQuestions(arena.random) }, CONNECTIONS)
      sent += report.sent
      for (const [fault, count] of Object.entries(report.failures)) failures[fault] = (failures[fault] ?? 0) + count
      const { rejections, example = '' } = report
      if (rejections.length > 0) failures[example] = (failures[example] ?? 0) + rejections.length
    }
  })()
  await work()
  over = true
  await load
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0)
  if (failed > 0) arena.say(`${name}: ${JSON.stringify(failures)}`)
  return atMost(failed, 0, `${failed} of ${format(sent)} failed ${name}`)
}

/** A version of the project: the files in its folder. */
type Version = 'earlier' | 'later'

/** The version of a round; the servers start with the earlier one. */
const versionOf = (round: number): Version => (round % 2 === 0 ? 'later' : 'earlier')

const ADDITION = 'migrations/0002_add_stars.sql'

/** Makes a folder into a version of the project. */
function deploy(folder: string, version: Version): string {
  // The folder itself stays: servers run in it.
  copyService(folder)
  rmSync(join(folder, ADDITION), { force: true })
  if (version === 'earlier') return folder
  const file = join(folder, 'resources.yaml')
  const field = '      stars:      { type: integer, nullable: true }\n'
  writeFileSync(file, readFileSync(file, 'utf8').replace(/( +created_at: .*\n)/, `$1${field}`))
  const sql =
    '-- up\nalter table snippets add column stars integer;\n-- down\nalter table snippets drop column stars;\n'
  writeFileSync(join(folder, ADDITION), sql)
  return folder
}

async function byWorkers(arena: Arena, rounds: number): Promise<readonly Figure[]> {
  const folder = deploy(join(arena.folder, 'workers'), 'earlier')
  const url = await arena.database()
  const served = await arena.serve({ url, folder, args: ['--migrate', '--workers', '2'], env: { DATABASE_POOL: '10' } })
  const rejected = served.logged('not_replaced', 1).then(() => {
    throw new Error('the workers were not replaced')
  })
  const replace = async () => {
    for (let round = 0; round < rounds; round++) {
      await delay(500)
      deploy(folder, versionOf(round))
      process.kill(served.pid, 'SIGUSR2')
      await Promise.race([served.logged('replaced', round + 1), rejected])
    }
  }
  return [await during(arena, served.port, 'while workers were replaced', replace)]
}

async function behindBalancer(arena: Arena, rounds: number): Promise<readonly Figure[]> {
  let program: string
  try {
    program = findTool('haproxy', arena.tier)
  } catch (error) {
    if (!(error instanceof Skipped)) throw error
    arena.say(`skipped the balancer: ${error.message}`)
    return []
  }
  const url = await arena.database()
  const places = await Promise.all([0, 1].map(async () => ({ port: await freePort(), admin: await freePort() })))
  const folders: Readonly<Record<Version, string>> = {
    earlier: deploy(join(arena.folder, 'earlier'), 'earlier'),
    later: deploy(join(arena.folder, 'later'), 'later'),
  }
  const start = async ({ port, admin }: Place, version: Version) => {
    const folder = folders[version]
    const served = await arena.serve({ url, folder, port, args: ['--migrate', '--admin-port', String(admin)] })
    await untilAnswered(admin, READY)
    return served
  }
  const servers = await Promise.all(places.map((place) => start(place, 'earlier')))
  const port = await startBalancer(arena, program, places)
  const replace = async () => {
    for (let round = 0; round < rounds; round++) {
      for (const [at, place] of places.entries()) {
        await delay(500)
        await servers[at]?.stop()
        servers[at] = await start(place, versionOf(round))
      }
    }
  }
  return [await during(arena, port, 'behind a balancer', replace)]
}

async function startBalancer(arena: Arena, program: string, places: readonly Place[]): Promise<number> {
  const port = await freePort()
  const file = join(arena.folder, 'haproxy.cfg')
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    // Longer than the second within which the response arrives, however busy the server is.
    '  timeout check 2s',
    '  timeout client 30s',
    '  timeout server 30s',
    '  option redispatch',
    '  retries 3',
    '  retry-on conn-failure empty-response',
    'frontend all',
    `  bind 127.0.0.1:${port}`,
    '  default_backend servers',
    'backend servers',
    `  option httpchk GET ${READY}`,
    '  http-check send hdr Host localhost',
    ...places.map(
      (place, at) => `  server s${at} 127.0.0.1:${place.port} check port ${place.admin} inter 200ms fall 1 rise 1`,
    ),
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const child = spawn(program, ['-db', '-f', file], { stdio: 'ignore' })
  arena.later(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  })
  await untilAnswered(port, RECORDS)
  return port
}
