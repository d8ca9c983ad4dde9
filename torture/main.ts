import { readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { withClient } from '../bench/cluster.js'
import { openArena } from './arena.js'
import { CAMPAIGN } from './campaign.js'
import { type Options, parseOptions, usage } from './options.js'
import { plantAll } from './planted/plant.js'
import { makePostgres, type Postgres } from './postgres.js'
import { outcomeOf, type Result, type Results, toEvidence, toLine, versions } from './results.js'
import { Skipped, type Store, type Tier, type Trial } from './trial.js'

/** One PostgreSQL server for all trials that do not break it, started when the first asks. */
interface Shared {
  readonly server: () => Promise<Postgres>
  readonly version: () => string | undefined
  readonly remove: () => Promise<void>
}

const say = (line: string) => void process.stderr.write(`torture: ${line}\n`)

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return console.log(usage(CAMPAIGN))
  const options = readOptions()
  if (options === undefined) return
  if (options.evidence !== undefined) {
    const runs = options.evidence.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results)
    return console.log(toEvidence(runs))
  }
  if (options.planted) {
    if ((await plantAll(options.bugs, (line) => console.log(line))).length > 0) process.exitCode = 1
    return
  }
  const results = await run(options)
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, undefined, 2)}\n`)
  const bad = results.results.filter(({ outcome }) => outcome === 'missed' || outcome === 'failed')
  say(`${results.results.length} trials in ${Math.round(results.seconds)} s, ${bad.length} failed`)
  if (bad.length > 0) process.exitCode = 1
}

function readOptions(): Options | undefined {
  try {
    return parseOptions(process.argv.slice(2), CAMPAIGN)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage(CAMPAIGN)}\n`)
    process.exitCode = 2
    return undefined
  }
}

/** A trial on one kind of database. */
interface Attempt {
  readonly trial: Trial
  readonly store: Store
}

/** How many trials run in parallel, except for those that need the machine to themselves. */
const TOGETHER: Readonly<Record<Tier, number>> = { commit: 2, nightly: 1, release: 1 }

async function run(options: Options): Promise<Results> {
  const { tier, seed, trials } = options
  const started = performance.now()
  const shared = sharePostgres()
  const results = new Map<Attempt, Result>()
  const closings = new Set<() => Promise<void>>()
  const interrupted = () =>
    void Promise.all([...closings].map((close) => close()))
      .then(shared.remove)
      .finally(() => process.exit(130))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  say(`tier ${tier}, seed ${seed}, Node ${process.versions.node}`)
  const attempts = trials.flatMap((trial) => trial.stores.map((store) => ({ trial, store })))
  const oneByOne = async (queue: Attempt[]) => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = await attempt(next, options, { shared, closings })
      console.log(toLine(result))
      results.set(next, result)
    }
  }
  try {
    const social = attempts.filter(({ trial }) => !trial.alone)
    await Promise.all(Array.from({ length: TOGETHER[tier] }, () => oneByOne(social)))
    await oneByOne(attempts.filter(({ trial }) => trial.alone))
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    await shared.remove()
  }
  const seconds = (performance.now() - started) / 1000
  const inOrder = attempts.flatMap((each) => results.get(each) ?? [])
  return {
    tier,
    seed,
    started: new Date().toISOString(),
    seconds,
    versions: versions(shared.version()),
    results: inOrder,
  }
}

/** What the attempts of one run share. */
interface Surroundings {
  readonly shared: Shared
  /** Ends the attempts in progress. */
  readonly closings: Set<() => Promise<void>>
}

async function attempt(
  { trial, store }: Attempt,
  { tier, seed }: Options,
  { shared, closings }: Surroundings,
): Promise<Result> {
  const started = performance.now()
  const { id, title } = trial
  const [load] = loadavg()
  const seconds = () => (performance.now() - started) / 1000
  const about = () => ({ id, title, store, amount: trial.amount(tier), seconds: seconds(), load })
  const { arena, close } = openArena({ trial, store, tier, seed, shared: shared.server, say })
  closings.add(close)
  try {
    const figures = await trial.run(arena)
    return { ...about(), figures, outcome: outcomeOf(figures) }
  } catch (error) {
    const skipped = error instanceof Skipped
    const reason = error instanceof Error ? (skipped ? error.message : (error.stack ?? error.message)) : String(error)
    return { ...about(), figures: [], outcome: skipped ? 'skipped' : 'failed', reason }
  } finally {
    closings.delete(close)
    await close()
  }
}

function sharePostgres(): Shared {
  let starting: Promise<Postgres> | undefined
  let version: string | undefined
  const start = async () => {
    const server = await makePostgres({ settings: ['max_connections=200'] })
    await server.start()
    const { rows } = await withClient(server.url, (client) =>
      client.query<{ server_version: string }>('show server_version'),
    )
    version = rows[0]?.server_version
    return server
  }
  return {
    server: () => (starting ??= start()),
    version: () => version,
    remove: async () => void (await (await starting?.catch(() => undefined))?.remove()),
  }
}

await main()
// Sockets that were reset while they were being made keep Node from ever taking down its event loop.
process.exit()
