import { type Command, InvalidArgumentError, Option } from 'commander'
import { createService, type Database, openDatabase } from '../../src/index.js'
import {
  type Application,
  type CliContext,
  type CommonOptions,
  projectFolders,
  requireApplication,
} from '../context.js'
import { isReachable, prepareSchema, untilReachable } from '../schema.js'
import { type ExitCode, Failure } from '../failure.js'
import { gateDatabase } from '../gate.js'
import { createLog, type Log } from '../log.js'
import { reportLosses } from '../losses.js'
import { announce, warnOfOpenHost } from '../announce.js'
import { listenForStop, type Stop } from '../stop.js'

interface ServeOptions extends CommonOptions {
  readonly port: number
  readonly host: string
  readonly migrate?: true
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl serve
  $ snippetctl serve --port 0                              any free port, printed once it listens
  $ DATABASE_URL=postgres://app@db/app snippetctl serve --migrate

Without DATABASE_URL the database is an embedded one, in .snippetctl/pg beside the configuration.`

/** `serve`: answers requests until a signal ends it. */
export function addServe(program: Command, context: CliContext): void {
  program
    .command('serve')
    .description('serve the API')
    .addOption(new Option('--port <number>', '0 is any free one').env('PORT').default(8000).argParser(parsePort))
    .addOption(new Option('--host <address>', 'the address to listen on').env('HOST').default('127.0.0.1'))
    .option('--migrate', 'apply pending migrations first')
    .option('--json', 'log JSON at a terminal too')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ServeOptions) => context.finish(await serve(context, options)))
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new InvalidArgumentError('A port is a number from 0 to 65535.')
}

/** All that one run of the server is made of. */
interface Run {
  readonly context: CliContext
  readonly options: ServeOptions
  readonly application: Application
  readonly database: Database
  readonly log: Log
  readonly stop: Stop
}

const hasBanner = ({ context, options }: Run): boolean => context.err.terminal && !options.json

async function serve(context: CliContext, options: ServeOptions): Promise<ExitCode> {
  const log = createLog(context, { json: options.json === true })
  const sayLosses = reportLosses(context, log)
  const stop = listenForStop(context, log)
  const application = await requireApplication(context, options)
  const { embedded } = projectFolders(application.spec.file)
  const database = await openDatabase({ url: context.env['DATABASE_URL'], directory: embedded }, context.env)
  const run = { context, options, application, database, log, stop }
  try {
    const state = await Promise.race([prepareDatabase(run), stop.requested])
    return typeof state === 'number' ? state : await serveRequests(run, state)
  } finally {
    await database.close()
    sayLosses()
  }
}

/** Looks whether the database is there, and brings its schema up to date if it is. */
async function prepareDatabase(run: Run): Promise<'ready' | 'away'> {
  const { database, log } = run
  if (!hasBanner(run)) log.info({ event: 'database', msg: database.description })
  if (!(await isReachable(database))) {
    log.warn({ event: 'database_away', msg: 'the database cannot be reached: requests are answered 503 until it can' })
    return 'away'
  }
  await prepareSchemaOf(run)
  return 'ready'
}

function prepareSchemaOf({ application, database, options, log }: Run): Promise<void> {
  return prepareSchema({ spec: application.spec, database, migrate: options.migrate === true, log })
}

async function serveRequests(run: Run, state: 'ready' | 'away'): Promise<ExitCode> {
  const { context, options, application, database, log, stop } = run
  const gate = gateDatabase(database)
  const service = createService(application.app, state === 'ready' ? database : gate.database, { log })
  const { url } = await service.listen({ port: options.port, host: options.host }).catch((cause: unknown) => {
    throw refusedAddress(options, cause)
  })
  try {
    warnOfOpenHost(options.host, log)
    announce(context, { url, app: application.app, database, log, banner: hasBanner(run) })
    if (state === 'ready') return await stop.requested
    return await Promise.race([stop.requested, openWhenReachable(run, gate.open)])
  } finally {
    await service.drain()
  }
}

/** Resolves only when the server ends; rejects when the database that came back is not one to serve from. */
async function openWhenReachable(run: Run, open: () => void): Promise<ExitCode> {
  const { database, log, stop } = run
  await untilReachable(database, stop.signal)
  if (stop.signal.aborted) return stop.requested
  await prepareSchemaOf(run)
  open()
  log.info({ event: 'database_back', msg: 'the database is there' })
  return stop.requested
}

/** What the system says about an address, and what would be right. */
const ADDRESS_ERRORS: Readonly<Record<string, (options: ServeOptions) => readonly [message: string, help: string]>> = {
  EADDRINUSE: ({ port }) => [
    `port ${port} is already in use`,
    `choose another: snippetctl serve --port ${port + 1 > 65_535 ? 0 : port + 1}   (or set PORT)`,
  ],
  EACCES: ({ port }) => [
    `port ${port} may not be used by this user`,
    'choose one above 1023: snippetctl serve --port 8000   (or set PORT)',
  ],
  EADDRNOTAVAIL: ({ host }) => [
    `this machine has no address \`${host}\``,
    'listen on --host 127.0.0.1, or on --host 0.0.0.0 for all',
  ],
  ENOTFOUND: ({ host }) => [
    `the host \`${host}\` is unknown`,
    'listen on --host 127.0.0.1, or on --host 0.0.0.0 for all',
  ],
  EAI_AGAIN: ({ host }) => [`the host \`${host}\` could not be looked up`, 'give an address: --host 127.0.0.1'],
}

function refusedAddress(options: ServeOptions, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const explain = ADDRESS_ERRORS[code]
  if (explain === undefined) return cause
  const [message, help] = explain(options)
  return new Failure(2, message, [help], cause)
}
