import process from 'node:process'
import { createService, type Database, findTracing, type Monitor } from '../../src/internal.js'
import { rejectedAddress } from './address.js'
import { announce, describeListening, warnOfOpenHost } from './announce.js'
import { answerBackups } from '../database/backups.js'
import {
  type Application,
  type CliContext,
  type CommonOptions,
  projectFolders,
  requireApplication,
} from '../context.js'
import { openProjectDatabase } from '../database/database.js'
import { sayEnvFile } from '../env-file.js'
import type { ExitCode } from '../failure.js'
import { gateDatabase } from './database-gate.js'
import { loggingFailure } from './log/failure-entry.js'
import { createLog, type Log } from './log/log.js'
import { reportDroppedLines } from './log/dropped-lines.js'
import { beginWork, type WorkerRun } from './workers/begin-work.js'
import type { WorkerOptions } from './workers/parent.js'
import { watchesFiles, reloadOnSave } from './reload.js'
import { prepareDatabase, prepareReached, untilReachable } from './schema.js'
import { keepServing, listenForStop, type Stop, type StopOptions } from './stop.js'
import { type AdminOptions, watchProcess } from './watch.js'

export interface ServeOptions extends CommonOptions, AdminOptions, StopOptions {
  readonly port: number
  readonly host: string
  readonly workers?: number
  readonly migrate?: true
  readonly json?: true
  readonly accessLog: string
  readonly reload: boolean
}

interface ServiceRun {
  readonly context: CliContext
  readonly options: ServeOptions
  readonly application: Application
  readonly database: Database
  readonly log: Log
  readonly stop: Stop
  /** Set if this process is a worker: then the parent checks the schema and reports where the server listens. */
  readonly worker: WorkerRun | undefined
  /** Measures this process; undefined without an admin port. */
  readonly monitor: Monitor | undefined
}

export function hasBanner(context: CliContext, options: ServeOptions): boolean {
  return context.err.terminal && !options.json
}

/** Serves from this process, alone or as a worker, until a signal stops it. */
export function serveHere(context: CliContext, options: ServeOptions): Promise<ExitCode> {
  const { parent } = context
  const log = createLog(context, {
    ...options,
    about: parent && { worker: parent.worker, pid: process.pid },
  })
  return loggingFailure(context, options, { log, work: () => serveLogged(context, options, log) })
}

async function serveLogged(context: CliContext, options: ServeOptions, log: Log): Promise<ExitCode> {
  const { parent } = context
  sayEnvFile(context.envFile, log)
  const reportTotal = reportDroppedLines(context, log)
  const stop = listenForStop(context, options, log)
  const application = await requireApplication(context, options, log)
  const begin = async () => {
    const worker = parent && (await beginWork(parent, application, log))
    return { worker, database: await open(context, application, worker) }
  }
  const { worker, database } = await begin().catch(async (error: unknown) => {
    await application.close(log)
    throw error
  })
  const stopBackups = answerBackups(projectFolders(application.spec.file).embedded, database, log)
  let watch: Awaited<ReturnType<typeof watchProcess>>
  try {
    watch = await watchProcess({ context, options, database, log, stop, worker })
    const run = { context, options, application, database, log, stop, worker, monitor: watch?.monitor }
    const state = await Promise.race([prepare(run), stop.requested])
    return typeof state === 'number' ? state : await serveRequests(run, state)
  } finally {
    // No version of the application is served any more.
    await application.close(log)
    await stopBackups()
    await database.close()
    await watch?.close()
    reportTotal()
  }
}

function open(context: CliContext, { spec }: Application, worker: WorkerOptions | undefined): Promise<Database> {
  const pool = worker && { DATABASE_POOL: String(worker.connections) }
  return openProjectDatabase(context, spec.file, { ...context.env, ...pool })
}

async function prepare(run: ServiceRun): Promise<'ready' | 'away'> {
  const { context, options, database, log, worker } = run
  if (!worker && !hasBanner(context, options)) log.info({ event: 'database', msg: database.description })
  // Until the parent has checked the schema, migrations that are being applied would look pending.
  if (worker?.prepared === false) return 'away'
  return prepareDatabase(preparationOf(run))
}

function preparationOf({ application, database, options, worker, log }: ServiceRun) {
  return { spec: application.spec, database, migrate: options.migrate === true && !worker, log }
}

async function serveRequests(run: ServiceRun, state: 'ready' | 'away'): Promise<ExitCode> {
  const { context, options, application, database, log, stop, worker, monitor } = run
  const { host } = options
  const gate = gateDatabase(database)
  const served = state === 'ready' ? database : gate.database
  const spans = findTracing(application.spec.file, context.version)
  const service = createService(application.app, served, { log, traffic: monitor?.traffic, spans })
  monitor?.watch(service)
  // Starts before the server listens, so that no change is missed and the first log line comes before the first response.
  const stopWatching = watchesFiles(context, options) ? await reloadOnSave({ ...run, service }) : async () => {}
  const { url } = await service.listen({ port: worker?.port ?? options.port, host }).catch(async (cause: unknown) => {
    await stopWatching()
    throw rejectedAddress(options, cause)
  })
  try {
    reportListening(run, url)
    if (state === 'ready') monitor?.open()
    // If this fails, the first page tries again, and reports why.
    void application.app.pages?.prepare().catch(() => {})
    const ends = state === 'ready' ? [stop.requested] : [stop.requested, openWhenReachable(run, gate.open)]
    return await keepServing(options, await Promise.race(ends))
  } finally {
    await stopWatching()
    await Promise.all([service.drain(), context.parent?.release()])
  }
}

function reportListening({ context, options, application, database, log, worker }: ServiceRun, url: string): void {
  const listening = describeListening(url, application)
  if (worker) return worker.announce(listening)
  warnOfOpenHost(options.host, listening, log)
  announce(context, { listening, database: database.description, log, banner: hasBanner(context, options) })
}

/** Opens the gate once the database is available and its schema checked. Resolves when the server stops; rejects if the schema does not fit. */
async function openWhenReachable(run: ServiceRun, open: () => void): Promise<ExitCode> {
  const { context, database, log, stop, worker, monitor } = run
  if (worker?.prepared === false) await context.parent?.prepared
  await untilReachable(database, stop.signal)
  if (stop.signal.aborted) return stop.requested
  await prepareReached(preparationOf(run))
  open()
  monitor?.open()
  log.info({ event: 'database_back', msg: 'the database is available again' })
  return stop.requested
}
