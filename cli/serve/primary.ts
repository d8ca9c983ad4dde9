import cluster from 'node:cluster'
import process from 'node:process'
import type { AppSpec, Database } from '../../src/internal.js'
import { announce, warnOfOpenHost } from './announce.js'
import { type CliContext, requireSpec } from '../context.js'
import { createCrew, type Crew } from './crew.js'
import { openProjectDatabase } from '../database/database.js'
import { sayEnvFile } from '../env-file.js'
import { type ExitCode, Failure, Finished } from '../failure.js'
import { forwardLines } from './lines.js'
import { createLog, type Log } from './log.js'
import { reportLosses } from './losses.js'
import type { Output } from '../output.js'
import { prepareDatabase, prepareSchema, untilReachable } from './schema.js'
import { hasBanner, type ServeOptions } from './serving.js'
import { shareConnections } from './shares.js'
import { drainDelayOf, listenForStop, type Stop } from './stop.js'
import { watchCrew } from './watch-crew.js'

interface Run {
  readonly context: CliContext
  readonly options: ServeOptions
  /** Of workers. */
  readonly amount: number
  readonly log: Log
  readonly stop: Stop
}

/** Serves from worker processes that share one port. This process sees to the database's schema and to them, and takes no request. */
export async function serveByWorkers(context: CliContext, options: ServeOptions, amount: number): Promise<ExitCode> {
  const log = createLog(context, { ...options, about: { pid: process.pid } })
  sayEnvFile(context.envFile, log)
  const sayLosses = reportLosses(context, log)
  const run = { context, options, amount, log, stop: listenForStop(context, options, log) }
  refuseEmbedded(context)
  const watch = await watchCrew(run)
  try {
    const prepared = await Promise.race([prepare(run), run.stop.requested])
    if (typeof prepared === 'number') return prepared
    const shares = shareConnections(context.env['DATABASE_POOL'], amount)
    const crew = createCrew({
      shares,
      port: options.port,
      prepared: prepared.state === 'ready',
      log,
      watch,
      drainDelay: drainDelayOf(options),
    })
    setUpWorkers(context)
    context.onExit(crew.kill)
    try {
      return await superviseUntilStop(run, crew, prepared)
    } finally {
      await crew.stop()
    }
  } finally {
    watch?.close()
    sayLosses()
  }
}

function refuseEmbedded({ env }: CliContext): void {
  if (env['DATABASE_URL'] !== undefined) return
  throw new Failure(2, '--workers needs a PostgreSQL server: the embedded database is for one process', [
    'DATABASE_URL=postgres://user:password@host:5432/database selects one',
    'without --workers, one process serves from the embedded database',
  ])
}

/** Whether the schema is as it should be, or the database is away; and what the database is. */
function prepare(run: Run) {
  return withDatabase(run, async (database, spec) => {
    const { context, options, log } = run
    const { description } = database
    if (!hasBanner(context, options)) log.info({ event: 'database', msg: description })
    return { description, state: await prepareDatabase({ spec, database, migrate: options.migrate === true, log }) }
  })
}

type Prepared = Awaited<ReturnType<typeof prepare>>

/** Workers run this program again, with the same arguments; what they print passes through this process, unless a terminal shows it. */
function setUpWorkers({ out, err, program }: CliContext): void {
  const printed = ({ terminal }: Output) => (terminal ? 'inherit' : 'pipe')
  cluster.setupPrimary({
    exec: program,
    stdio: ['ignore', printed(out), printed(err), 'ipc'],
  })
  cluster.on('fork', ({ process: { stdout, stderr } }) => {
    if (stdout) forwardLines(stdout, out.offer.write)
    if (stderr) forwardLines(stderr, err.offer.write)
  })
}

async function superviseUntilStop(run: Run, crew: Crew, { description, state }: Prepared): Promise<ExitCode> {
  const { context, options, amount, log, stop } = run
  const listening = await Promise.race([crew.start(), stop.requested])
  if (typeof listening === 'number') return listening
  warnOfOpenHost(options.host, log)
  announce(context, {
    listening,
    database: description,
    workers: amount,
    log,
    banner: hasBanner(context, options),
  })
  replaceOnSignal(run, crew)
  const ends = [stop.requested, lossOf(crew, log), ...(state === 'away' ? [prepareWhenReachable(run, crew)] : [])]
  return Promise.race(ends)
}

async function lossOf(crew: Crew, log: Log): Promise<ExitCode> {
  const code = await crew.lost
  log.error({ event: 'workers_lost', msg: 'no worker is left, and each new one ends before it listens: giving up' })
  return code
}

/** Resolves only when the server ends; rejects when the database that came back is not one to serve from. */
async function prepareWhenReachable(run: Run, crew: Crew): Promise<ExitCode> {
  const { options, log, stop } = run
  await withDatabase(run, async (database, spec) => {
    await untilReachable(database, stop.signal)
    if (!stop.signal.aborted) await prepareSchema({ spec, database, migrate: options.migrate === true, log })
  })
  crew.tellPrepared()
  return stop.requested
}

/** On SIGUSR2 the files are read again, by new workers that take the places of the old ones. */
function replaceOnSignal(run: Run, crew: Crew): void {
  const { context, log } = run
  let underWay = false
  context.onReplace(() => {
    if (underWay || run.stop.signal.aborted) return
    underWay = true
    log.info({ event: 'replacing', msg: 'SIGUSR2: replacing the workers, one after the other' })
    replaceAll(run, crew)
      .then(
        () => log.info({ event: 'replaced', msg: 'every worker is a new one' }),
        (error: unknown) =>
          log.error({ event: 'not_replaced', msg: `the workers stay as they are: ${reasonOf(error)}` }),
      )
      .finally(() => (underWay = false))
  })
}

function reasonOf(error: unknown): string {
  if (error instanceof Finished) return 'the configuration has errors'
  return error instanceof Error ? error.message : String(error)
}

async function replaceAll(run: Run, crew: Crew): Promise<void> {
  const { state } = await prepare(run)
  if (state === 'away') throw new Error('the database cannot be reached')
  if (!(await crew.replaceAll())) throw new Error('a new one ended before it listened')
}

/** Opens the database for as long as `work` takes: this process needs it only to see to the schema. */
async function withDatabase<T>(
  { context, options }: Run,
  work: (database: Database, spec: AppSpec) => Promise<T>,
): Promise<T> {
  const spec = await requireSpec(context, options)
  const database = await openProjectDatabase(context, spec.file)
  try {
    return await work(database, spec)
  } finally {
    await database.close()
  }
}
