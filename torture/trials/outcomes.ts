import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../bench/cluster.js'
import { createClient, untilAnswered } from '../client.js'
import type { Postgres } from '../postgres.js'
import { type Proxy, startProxy } from '../proxy.js'
import { copyService, type Served } from '../serve.js'
import { type Arena, atLeast, atMost, format, trial } from '../trial.js'
import { judge, type Ledger, openLedger, readAll, RECORDS, write } from '../writers.js'

interface Amount {
  readonly rounds: number
}

const WRITERS = 8

/** What is broken while clients write. */
interface Scene {
  readonly arena: Arena
  readonly ledger: Ledger
  readonly start: () => Promise<Served>
  /** Left out where the database is embedded. */
  readonly behind?: { readonly postgres: Postgres; readonly proxy: Proxy; readonly url: string }
  served: Served
}

/** Each fault breaks something and repairs it. */
type Fault = (scene: Scene) => Promise<void>

const freezeService: Fault = async ({ served }) => {
  process.kill(served.pid, 'SIGSTOP')
  await delay(700)
  process.kill(served.pid, 'SIGCONT')
}

const killService: Fault = async (scene) => {
  await scene.served.stop('SIGKILL')
  scene.served = await scene.start()
}

const restartService: Fault = async (scene) => {
  await scene.served.stop('SIGTERM')
  scene.served = await scene.start()
}

const ON_SERVER: readonly Fault[] = [
  async ({ behind }) => behind?.proxy.breakAll('reset'),
  async ({ behind }) => behind?.proxy.breakAll('end'),
  async ({ behind }) => {
    await behind?.postgres.stop('SIGINT')
    await behind?.postgres.start()
  },
  async ({ behind }) => {
    await behind?.postgres.stop('SIGKILL')
    await behind?.postgres.start()
  },
  freezeBackends,
  loseStandby,
]

/** Every backend of the service stands still for longer than it is waited for. */
async function freezeBackends({ behind }: Scene): Promise<void> {
  if (!behind) return
  const text = `select pid from pg_stat_activity where application_name = 'snippetctl'`
  const { rows } = await withClient(behind.url, (client) => client.query<{ pid: number }>(text))
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP')
  await delay(7_500)
  for (const { pid } of rows) process.kill(pid, 'SIGCONT')
}

/** Commits wait for a standby that never comes, for longer than they are waited for. */
async function loseStandby({ behind }: Scene): Promise<void> {
  if (!behind) return
  await withClient(behind.url, async (client) => {
    await client.query(`alter system set synchronous_standby_names = 'nobody'`)
    await client.query('select pg_reload_conf()')
    await delay(7_500)
    await client.query('alter system reset synchronous_standby_names')
    await client.query('select pg_reload_conf()')
  })
}

/** Clients record the response to each write, and the table is read afterwards. */
export const outcomes = trial<Amount>({
  id: 'T24',
  title: 'whatever fails, the response to a write agrees with the table',
  stores: ['postgres', 'embedded'],
  tiers: { commit: { rounds: 1 }, nightly: { rounds: 10 }, release: { rounds: 50 } },
  run: async (arena, { rounds }) => {
    const scene = await setUp(arena)
    const faults = scene.behind
      ? [freezeService, ...ON_SERVER, restartService, killService]
      : [freezeService, restartService, killService]
    for (let round = 0; round < rounds; round++)
      for (const [at, fault] of faults.entries()) await breakOnce(scene, fault, `${round}.${at}`)
    const client = createClient(scene.served.port, 1)
    arena.later(() => client.close())
    const { acknowledged, rejected, unknown, wrong } = scene.ledger
    const titles = (await readAll(client)).map(({ title }) => title)
    const { lost, ghosts, twice } = judge(scene.ledger, titles)
    for (const text of [...new Set(wrong)].slice(0, 5)) arena.say(text)
    if (lost.length + ghosts.length + twice.length > 0)
      arena.say(JSON.stringify({ lost, ghosts, twice }).slice(0, 2_000))
    return [
      atMost(lost.length, 0, `${lost.length} of ${format(acknowledged.size)} acknowledged writes are missing`),
      atMost(ghosts.length, 0, `${ghosts.length} of ${format(rejected.size)} rejected writes are in the table`),
      atMost(twice.length, 0, `${twice.length} stored twice`),
      atMost(wrong.length, 0, `${wrong.length} responses with an unexpected status (${unknown.size} unknown)`),
      atLeast(acknowledged.size, 1, `${format(acknowledged.size)} acknowledged`),
    ]
  },
})

async function setUp(arena: Arena): Promise<Scene> {
  const ledger = openLedger()
  if (arena.store === 'embedded') {
    const folder = copyService(`${arena.folder}/service`)
    const start = () => arena.serve({ folder })
    return { arena, ledger, start, served: await start() }
  }
  const postgres = await arena.postgres()
  await postgres.start()
  const url = await postgres.database('outcomes')
  const proxy = await startProxy(postgres.port)
  arena.later(() => proxy.close())
  const start = () => arena.serve({ url: `postgres://postgres@127.0.0.1:${proxy.port}/outcomes` })
  return { arena, ledger, start, behind: { postgres, proxy, url }, served: await start() }
}

async function breakOnce(scene: Scene, fault: Fault, name: string): Promise<void> {
  const client = createClient(scene.served.port, WRITERS)
  let going = true
  let made = 0
  const titles = () => `fault ${name} record ${made++}`
  const writers = Array.from({ length: WRITERS }, () => write(client, scene.ledger, titles, () => going))
  await delay(scene.arena.random.between(100, 300))
  await fault(scene)
  await delay(100)
  going = false
  await Promise.all(writers)
  client.close()
  await untilAnswered(scene.served.port, `${RECORDS}?page_size=1`)
}
