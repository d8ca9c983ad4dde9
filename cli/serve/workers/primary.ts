import cluster from 'node:cluster'
import process from 'node:process'
import type { AppSpec, Database } from '../../../src/internal.js'
import { announce, warnOfOpenHost } from '../announce.js'
import { type CliContext, requireSpec } from '../../context.js'
import { createWorkerPool, type WorkerPool } from './worker-pool.js'
import { openProjectDatabase } from '../../database/database.js'
import { sayEnvFile } from '../../env-file.js'
import { type ExitCode, Failure } from '../../failure.js'
import { createLog, type Log } from '../log/log.js'
import { loggingFailure, reasonOf } from '../log/failure-entry.js'
import { reportDroppedLines } from '../log/dropped-lines.js'
import type { Output } from '../../output.js'
import { prepareDatabase, prepareReached, untilReachable } from '../schema.js'
import { hasBanner, type ServeOptions } from '../serving.js'
import { splitPool } from './pool-split.js'
import { drainDelayOf, listenForStop, type Stop } from '../stop.js'
import { watchWorkers } from './watch-workers.js'
import type { Readable } from 'node:stream'

interface WorkersRun {
  readonly context: CliContext
  readonly options: ServeOptions
  /** The number of workers. */
  readonly amount: number
  readonly log: Log
  readonly stop: Stop
}

/** Serves from worker processes that share one port. This process supervises the workers and checks the schema; it serves no requests. */
export function serveByWorkers(context: CliContext, options: ServeOptions, amount: number): Promise<ExitCode> {
  const log = createLog(context, { ...options, about: { pid: process.pid } })
  return loggingFailure(context, options, { log, work: () => supervise(context, options, { amount, log }) })
}

async function supervise(
  context: CliContext,
  options: ServeOptions,
  { amount, log }: Pick<WorkersRun, 'amount' | 'log'>,
): Promise<ExitCode> {
  sayEnvFile(context.envFile, log)
  const reportTotal = reportDroppedLines(context, log)
  const run = { context, options, amount, log, stop: listenForStop(context, options, log) }
  const mayReplace = listenForReplace(run)
  rejectEmbedded(context)
  const watch = await watchWorkers(run)
  try {
    const prepared = await Promise.race([prepare(run), run.stop.requested])
    if (typeof prepared === 'number') return prepared
    const pool = createWorkerPool({
      poolSizes: splitPool(context.env['DATABASE_POOL'], amount),
      port: options.port,
      prepared: prepared.state === 'ready',
      log,
      watch,
      drainDelay: drainDelayOf(options),
    })
    setUpWorkers(context)
    context.onExit(pool.kill)
    try {
      return await superviseUntilStop(run, pool, prepared, mayReplace)
    } finally {
      await pool.stop()
    }
  } finally {
    watch?.close()
    reportTotal()
  }
}

function rejectEmbedded({ env }: CliContext): void {
  if (env['DATABASE_URL'] !== undefined) return
  throw new Failure(2, '--workers needs a PostgreSQL server: only one process can open the embedded database', [
    'DATABASE_URL=postgres://user:password@host:5432/database selects one',
    'without --workers, one process serves from the embedded database',
  ])
}

/** Prepares the database, if it is available, and describes it. */
function prepare(run: WorkersRun) {
  return withDatabase(run, async (database, spec) => {
    const { context, options, log } = run
    const { description } = database
    if (!hasBanner(context, options)) log.info({ event: 'database', msg: description })
    return { description, state: await prepareDatabase({ spec, database, migrate: options.migrate === true, log }) }
  })
}

type Prepared = Awaited<ReturnType<typeof prepare>>

/** Workers run this program with the same arguments. Their output passes through this process, unless it goes to a terminal. */
function setUpWorkers({ out, err, program }: CliContext): void {
  const printed = ({ terminal }: Output) => (terminal ? 'inherit' : 'pipe')
  cluster.setupPrimary({
    exec: program,
    stdio: ['ignore', printed(out), printed(err), 'ipc'],
  })
  cluster.on('fork', ({ process: { stdout, stderr } }) => {
    if (stdout) forwardLines(stdout, out.lossy.write)
    if (stderr) forwardLines(stderr, err.lossy.write)
  })
}

async function superviseUntilStop(
  run: WorkersRun,
  pool: WorkerPool,
  { description, state }: Prepared,
  mayReplace: (pool: WorkerPool) => void,
): Promise<ExitCode> {
  const { context, options, amount, log, stop } = run
  const listening = await Promise.race([pool.start(), stop.requested])
  if (typeof listening === 'number') return listening
  mayReplace(pool)
  warnOfOpenHost(options.host, listening, log)
  announce(context, {
    listening,
    database: description,
    workers: amount,
    log,
    banner: hasBanner(context, options),
  })
  const ends = [stop.requested, lossOf(pool, log), ...(state === 'away' ? [prepareWhenReachable(run, pool)] : [])]
  return Promise.race(ends)
}

async function lossOf(pool: WorkerPool, log: Log): Promise<ExitCode> {
  const code = await pool.lost
  log.error({ event: 'workers_lost', msg: 'giving up: no worker is left, and every new worker ends before it listens' })
  return code
}

/** Checks the schema once the database is available. Resolves when the server stops; rejects if the schema does not fit. */
async function prepareWhenReachable(run: WorkersRun, pool: WorkerPool): Promise<ExitCode> {
  const { options, log, stop } = run
  await withDatabase(run, async (database, spec) => {
    await untilReachable(database, stop.signal)
    if (!stop.signal.aborted) await prepareReached({ spec, database, migrate: options.migrate === true, log })
  })
  pool.tellPrepared()
  return stop.requested
}

/**
 * Replaces the workers on SIGUSR2 by new ones, which read the files again. It listens from now on, because a signal without a
 * listener ends the process. The returned function is for the time when the workers listen: a signal that came before counts then.
 */
function listenForReplace(run: WorkersRun): (pool: WorkerPool) => void {
  const { context, log } = run
  let listening: WorkerPool | undefined
  let state: 'idle' | 'requested' | 'replacing' = 'idle'
  const replace = (pool: WorkerPool): void => {
    state = 'replacing'
    log.info({ event: 'replacing', msg: 'SIGUSR2: replacing the workers one by one' })
    replaceAll(run, pool)
      .then(
        () => log.info({ event: 'replaced', msg: 'replaced all workers' }),
        (error: unknown) =>
          log.error({ event: 'not_replaced', msg: `could not replace the workers: ${reasonOf(error, context)?.msg}` }),
      )
      .finally(() => (state = 'idle'))
  }
  context.onReplace(() => {
    if (run.stop.signal.aborted) return
    if (state === 'replacing') {
      log.warn({ event: 'replacing', msg: 'SIGUSR2: the workers are being replaced already' })
    } else if (listening) {
      replace(listening)
    } else {
      state = 'requested'
      log.info({ event: 'replacing', msg: 'SIGUSR2: the workers will be replaced when they listen' })
    }
  })
  return (pool) => {
    listening = pool
    if (state === 'requested') replace(pool)
  }
}

async function replaceAll(run: WorkersRun, pool: WorkerPool): Promise<void> {
  const { state } = await prepare(run)
  if (state === 'away') throw new Failure(1, 'the database is unavailable')
  await pool.replaceAll()
}

/** Opens the database while `work` runs: this process needs it only to check the schema. */
async function withDatabase<T>(
  { context, options }: WorkersRun,
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

const NEWLINE = 10

/** Forwards the output of a process in whole lines, so that several processes can share one stream. */
export function forwardLines(from: Readable, write: (lines: Uint8Array) => void): void {
  let partial: Buffer[] = []
  const forward = (end: Uint8Array) => {
    write(partial.length === 0 ? end : Buffer.concat([...partial, end]))
    partial = []
  }
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) forward(chunk.subarray(0, end))
    if (end < chunk.length) partial.push(chunk.subarray(end))
  })
  from.on('end', () => {
    if (partial.length > 0) forward(Buffer.of(NEWLINE))
  })
}
