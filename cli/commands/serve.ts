import { type Command, InvalidArgumentError, Option } from 'commander'
import type { CliContext } from '../context.js'
import { ACCESS_LOGS } from '../serve/log/log.js'
import { serveByWorkers } from '../serve/workers/primary.js'
import { withLostConnectionHelp, MIGRATION_HELP } from '../lost-connection.js'
import { type ServeOptions, serveHere } from '../serve/serving.js'

const EXAMPLES = `
Examples:
  $ snippetctl serve
  $ snippetctl serve --port 0                              any free port, printed once it listens
  $ DATABASE_URL=postgres://app@db/app snippetctl serve --migrate
  $ DATABASE_URL=postgres://app@db/app snippetctl serve --workers 4
  $ snippetctl serve --admin-port 9000                     curl -s http://127.0.0.1:9000/readyz

Without DATABASE_URL, it uses the embedded database in .snippetctl/pg next to the configuration.`

/** `serve`: serves requests until a signal stops it. */
export function addServe(program: Command, context: CliContext): void {
  withLostConnectionHelp(program.command('serve'), MIGRATION_HELP)
    .description('serve the API')
    .addOption(new Option('--port <number>', 'port; 0 is any free one').env('PORT').default(8000).argParser(parsePort))
    .addOption(
      new Option('--host <address>', 'the address to listen on').env('HOST').default('127.0.0.1').argParser(parseHost),
    )
    .option('--workers <number>', 'number of processes that share the port', parseWorkers)
    .addOption(
      new Option('--admin-port <number>', 'port for /livez, /readyz and /metrics')
        .env('SNIPPETCTL_ADMIN_PORT')
        .argParser(parsePort),
    )
    .addOption(
      new Option('--admin-host <address>', 'the address of that port')
        .env('SNIPPETCTL_ADMIN_HOST')
        .default('127.0.0.1')
        .argParser(parseHost),
    )
    .addOption(
      new Option(
        '--drain-delay <milliseconds>',
        'time for which a stopping server still accepts requests (500 with an admin port, else 0)',
      )
        .env('SNIPPETCTL_DRAIN_DELAY')
        .argParser(parseDelay),
    )
    .option('--migrate', 'apply pending migrations first')
    .option('--no-reload', 'do not watch files; implied by --workers and NODE_ENV=production')
    .option('--json', 'log JSON at a terminal too')
    .addOption(
      new Option('--access-log <which>', 'requests to log; failures are 5xx or cut off')
        .env('SNIPPETCTL_ACCESS_LOG')
        .choices(Object.keys(ACCESS_LOGS))
        .default('all'),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (options: ServeOptions) => context.finish(await serve(context, options)))
}

function serve(context: CliContext, options: ServeOptions) {
  if (options.workers === undefined || context.parent) return serveHere(context, options)
  return serveByWorkers(context, options, options.workers)
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new InvalidArgumentError('A port must be an integer from 0 to 65535.')
}

/** Node would listen on every address if it were empty. */
function parseHost(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('An address must not be empty; 0.0.0.0 is every address.')
}

const MAX_DRAIN_DELAY_MS = 300_000

function parseDelay(text: string): number {
  if (/^\d{1,6}$/.test(text) && Number(text) <= MAX_DRAIN_DELAY_MS) return Number(text)
  throw new InvalidArgumentError(`The delay must be an integer from 0 to ${MAX_DRAIN_DELAY_MS} milliseconds.`)
}

function parseWorkers(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('The number of workers must be an integer from 1 to 999.')
}
