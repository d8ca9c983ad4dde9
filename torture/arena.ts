import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../bench/contestants.js'
import { makePostgres, type Postgres } from './postgres.js'
import { createRandom, seedOf } from './random.js'
import { copyService, startServe } from './serve.js'
import { type Arena, atMost, format, type Store, type Tier, type Trial } from './trial.js'

const REGRESSIONS = join(HOME, 'torture/regressions')

interface ArenaParts {
  readonly trial: Trial
  readonly store: Store
  readonly tier: Tier
  readonly seed: number
  readonly shared: () => Promise<Postgres>
  readonly say: (line: string) => void
}

/** An arena for one trial on one kind of database, and the end of it. */
export function openArena({ trial: { id }, store, tier, seed, shared, say }: ArenaParts): {
  readonly arena: Arena
  readonly close: () => Promise<void>
} {
  const name = `${id.toLowerCase()}-${store}`
  const folder = join(HOME, '.snippetctl/torture-runs', `${name}-${process.pid}`)
  const cleanUps: (() => Promise<unknown> | unknown)[] = []
  const later = (cleanUp: () => Promise<unknown> | unknown) => void cleanUps.push(cleanUp)
  let made = 0
  mkdirSync(folder, { recursive: true })
  later(() => rmSync(folder, { recursive: true, force: true }))

  const database = async () => (await shared()).database(`${id.toLowerCase()}_${process.pid}_${made++}`)
  const service = async (): Promise<{ readonly url?: string; readonly folder?: string }> =>
    store === 'embedded' ? { folder: copyService(join(folder, `service-${made++}`)) } : { url: await database() }
  const boundOf = (milliseconds: number): number => (tier === 'commit' ? 10 * milliseconds : milliseconds)
  const arena: Arena = {
    tier,
    seed,
    random: createRandom(seedOf(seed, name)),
    store,
    folder,
    boundOf,
    inTime: (value, bound, text) => {
      const figure = atMost(value, boundOf(bound), text, ' ms')
      if (tier !== 'commit') return figure
      return { ...figure, target: `${figure.target} in this tier; promised ≤ ${format(bound)} ms` }
    },
    say: (line) => say(`${id}: ${line}`),
    later,
    database,
    postgres: async (options) => {
      const server = await makePostgres(options)
      later(() => server.remove())
      return server
    },
    serve: async (wishes = {}) => {
      const own = wishes.url === undefined && wishes.folder === undefined ? await service() : {}
      const served = await startServe({ ...own, ...wishes })
      later(() => served.stop('SIGKILL'))
      return served
    },
    keep: (finding, content) =>
      writeFileSync(join(REGRESSIONS, `${id}-${finding}.json`), `${JSON.stringify(content, undefined, 2)}\n`),
    kept: () =>
      readdirSync(REGRESSIONS)
        .filter((file) => file.startsWith(`${id}-`))
        .map((file) => JSON.parse(readFileSync(join(REGRESSIONS, file), 'utf8')) as unknown),
  }
  const close = async () => {
    for (const cleanUp of cleanUps.reverse()) {
      try {
        await cleanUp()
      } catch (error) {
        say(String(error))
      }
    }
  }
  return { arena, close }
}
