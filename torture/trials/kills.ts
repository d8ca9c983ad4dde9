import { withClient } from '../../bench/cluster.js'
import { median } from '../../bench/statistics.js'
import { createClient, untilAnswered } from '../client.js'
import type { Postgres } from '../postgres.js'
import { copyService, type Served } from '../serve.js'
import { type Arena, atMost, type Figure, format, trial } from '../trial.js'
import { judge, type Ledger, openLedger, readAll, RECORDS, write } from '../writers.js'

interface Amount {
  readonly kills: number
}

/** From the start of the process to the first response with data. */
const SLOWEST = { postgres: 1_500, embedded: 8_000, none: 0 } as const
const WRITERS = 16

/** Which process is killed. On PostgreSQL, sometimes the database's, or both at once. */
type Victim = 'server' | 'database' | 'both'

interface Scene {
  readonly arena: Arena
  readonly postgres: Postgres | undefined
  readonly start: () => Promise<Served>
  readonly ledger: Ledger
  readonly recoveries: number[]
}

/** The process is killed while clients write; everything that was acknowledged must exist afterwards. */
export const kills = trial<Amount>({
  id: 'T3',
  title: 'no acknowledged record is lost when processes are killed under write load',
  stores: ['postgres', 'embedded'],
  tiers: { commit: { kills: 10 }, nightly: { kills: 100 }, release: { kills: 1_000 } },
  run: async (arena, amount) => {
    const scene = await setUp(arena)
    let served = await scene.start()
    let last = 0
    let sunk = 0
    for (let kill = 0; kill < amount.kills; kill++) {
      const before = scene.ledger.acknowledged.size
      served = await killOnce(scene, served, kill)
      const fresh = [...scene.ledger.acknowledged.values()].slice(before).map(Number)
      // Ids are assigned in order, but not returned in order.
      if (fresh.length > 0 && Math.min(...fresh) <= last) sunk += 1
      last = Math.max(last, ...fresh)
    }
    return [...(await verdict(scene, served)), atMost(sunk, 0, `${sunk} ids assigned twice`)]
  },
})

async function setUp(arena: Arena): Promise<Scene> {
  const common = { arena, ledger: openLedger(), recoveries: [] }
  if (arena.store === 'embedded') {
    const folder = copyService(`${arena.folder}/service`)
    return { ...common, postgres: undefined, start: () => arena.serve({ folder }) }
  }
  const postgres = await arena.postgres()
  await postgres.start()
  const url = await postgres.database('kills')
  return { ...common, postgres, start: () => arena.serve({ url }) }
}

async function killOnce(
  { arena, postgres, start, ledger, recoveries }: Scene,
  served: Served,
  kill: number,
): Promise<Served> {
  const client = createClient(served.port, WRITERS)
  let going = true
  let made = 0
  const enough = ledger.acknowledged.size + arena.random.between(1, 40)
  const writers = Array.from({ length: WRITERS }, (_, lane) =>
    write(
      client,
      ledger,
      () => `kill ${kill} lane ${lane} record ${made++}`,
      () => going,
    ),
  )
  for (const deadline = Date.now() + 10_000; ledger.acknowledged.size < enough && Date.now() < deadline; )
    await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setTimeout(resolve, arena.random.between(0, 150)))
  const victim: Victim = postgres
    ? ((['server', 'server', 'database', 'both'] as const)[kill % 4] ?? 'server')
    : 'server'
  await Promise.all([victim !== 'database' && served.stop('SIGKILL'), victim !== 'server' && postgres?.stop('SIGKILL')])
  if (victim === 'database') await new Promise((resolve) => setTimeout(resolve, 50))
  going = false
  await Promise.all(writers)
  client.close()
  if (victim !== 'server') await postgres?.start()
  const started = performance.now()
  const next = victim === 'database' ? served : await start()
  await untilAnswered(next.port, `${RECORDS}?page_size=1`)
  recoveries.push(performance.now() - started)
  return next
}

async function verdict({ arena, postgres, ledger, recoveries }: Scene, served: Served): Promise<readonly Figure[]> {
  const client = createClient(served.port, 4)
  arena.later(() => client.close())
  const { lost, ghosts, twice } = judge(
    ledger,
    (await readAll(client)).map(({ title }) => title),
  )
  if (lost.length + ghosts.length + twice.length > 0) arena.say(JSON.stringify({ lost, ghosts, twice }))
  const broken = await disagreements(arena, postgres, ledger, served)
  const { acknowledged, unknown, wrong } = ledger
  const slowest = SLOWEST[arena.store]
  if (wrong.length > 0) arena.say(wrong.slice(0, 5).join('\n'))
  return [
    atMost(
      lost.length,
      0,
      `${lost.length} of ${format(acknowledged.size)} acknowledged records lost (${unknown.size} of unknown outcome)`,
    ),
    atMost(ghosts.length + twice.length, 0, `${ghosts.length} rejected records stored, ${twice.length} stored twice`),
    atMost(broken, 0, `${broken} indexes disagree with their table`),
    atMost(wrong.length, 0, `${wrong.length} responses other than 201 and 503`),
    arena.inTime(median(recoveries), slowest, `median recovery ${format(median(recoveries))} ms`),
  ]
}

/** The number of indexes that differ from their table; where no session is possible, of failed lookups of known records. */
async function disagreements(
  arena: Arena,
  postgres: Postgres | undefined,
  ledger: Ledger,
  served: Served,
): Promise<number> {
  if (postgres)
    return withClient(`${postgres.url.replace(/postgres$/, 'kills')}`, async (client) => {
      await client.query('create extension if not exists amcheck')
      const { rows } = await client.query<{ name: string }>(
        "select indexrelid::regclass::text as name from pg_index where indrelid = 'snippets'::regclass",
      )
      let broken = 0
      for (const { name } of rows)
        await client.query('select bt_index_check($1::regclass, true)', [name]).catch((error: unknown) => {
          arena.say(`${name}: ${String(error)}`)
          broken += 1
        })
      return broken
    })
  const client = createClient(served.port, 4)
  const titles = [...ledger.acknowledged.keys()].slice(-50)
  const found = await Promise.all(
    titles.map((title) => client.ask({ path: `${RECORDS}?title=${encodeURIComponent(title)}` })),
  )
  client.close()
  return found.filter(({ body }) => (JSON.parse(body) as unknown[]).length !== 1).length
}
