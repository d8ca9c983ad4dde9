import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../bench/cluster.js'
import { buildMigrator, killNow, startMigrator } from '../../test/support/migrators.js'
import { makeSmallDisk } from '../small-disk.js'
import { type Arena, atMost, format, trial } from '../trial.js'

interface Amount {
  readonly kills: number
  readonly races: number
}

const STATEMENTS = 20

/** Migrators that are killed, that race, and that run out of disk. */
export const migrators = trial<Amount>({
  id: 'T12',
  title: 'a migration is applied completely or not at all, whatever happens to the migrator',
  stores: ['postgres'],
  tiers: { commit: { kills: 5, races: 2 }, nightly: { kills: 50, races: 20 }, release: { kills: 500, races: 200 } },
  run: async (arena, { kills, races }) => {
    const program = await buildMigrator()
    let torn = 0
    let slowest = 0
    for (let kill = 0; kill < kills; kill++) {
      const result = await killOne(arena, program, kill)
      torn += Number(result.torn)
      slowest = Math.max(slowest, result.next)
    }
    let unequal = 0
    for (let race = 0; race < races; race++) unequal += Number(await raceOnce(arena, program, race))
    const full = await fillDisk(arena, program)
    return [
      atMost(torn, 0, `${torn} of ${kills} killed migrations were applied partially`),
      arena.inTime(slowest, 2_000, `the next run took at most ${format(slowest)} ms`),
      atMost(unequal, 0, `${unequal} of ${races} races of two applied a step twice or failed`),
      atMost(
        full.length,
        0,
        full.length === 0 ? 'a full disk leaves the schema unchanged, and the next run succeeds' : full.join('; '),
      ),
    ]
  },
})

function makeFolder(arena: Arena, name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(arena.folder, name)
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

const slow = Array.from(
  { length: STATEMENTS },
  (_, at) => `create table t${at} (id int);\nselect pg_sleep(0.01);\n`,
).join('')
const FILES = { '0001_zero.sql': '-- up\ncreate table zero (id int);\n', '0002_more.sql': `-- up\n${slow}` }

function tables(url: string): Promise<number> {
  const text = `select count(*) from pg_tables where schemaname = 'public' and tablename ~ '^t\\d+$'`
  return withClient(url, async (client) => Number((await client.query<{ count: string }>(text)).rows[0]?.count))
}

async function exitCode(child: ReturnType<typeof startMigrator>): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

async function killOne(arena: Arena, program: string, kill: number) {
  const url = await arena.database()
  const folder = makeFolder(arena, `kill-${kill}`, FILES)
  const child = startMigrator(program, url, folder)
  await withClient(url, async (client) => {
    const begun = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    for (let look = 0; look < 2_000 && child.exitCode === null; look++) {
      if ((await client.query(begun)).rowCount !== 0) break
      await delay(2)
    }
  })
  await delay(arena.random.between(0, STATEMENTS * 12))
  if (child.exitCode === null) await killNow(child)
  const started = performance.now()
  const code = await exitCode(startMigrator(program, url, folder))
  const next = performance.now() - started
  // The next run shows what the killed one left: a partial migration would have made it fail.
  return { torn: code !== 0 || (await tables(url)) !== STATEMENTS, next }
}

/** Answers whether the race of two ended otherwise than one doing all of it. */
async function raceOnce(arena: Arena, program: string, race: number): Promise<boolean> {
  const url = await arena.database()
  const folder = makeFolder(arena, `race-${race}`, FILES)
  const codes = await Promise.all([0, 1].map(() => exitCode(startMigrator(program, url, folder))))
  return codes.some((code) => code !== 0) || (await tables(url)) !== STATEMENTS
}

/** A migration that needs more than there is, and then again when there is more. */
async function fillDisk(arena: Arena, program: string): Promise<readonly string[]> {
  const disk = await makeSmallDisk(arena)
  const url = await disk.postgres.database('full')
  const folder = makeFolder(arena, 'full', {
    '0001_zero.sql': '-- up\ncreate table t0 (id int);\n',
    '0002_large.sql': `-- up\ncreate table t1 as select repeat('x', 1000) as x from generate_series(1, 20000);\n`,
  })
  disk.fill()
  const faults: string[] = []
  if ((await exitCode(startMigrator(program, url, folder, 'ignore'))) === 0)
    faults.push('a migration without room succeeded')
  if ((await tables(url)) > 1) faults.push('half of a migration is there')
  disk.free()
  if ((await exitCode(startMigrator(program, url, folder))) !== 0) faults.push('the next run failed')
  if ((await tables(url)) !== 2) faults.push('the next run did not do all')
  return faults
}
