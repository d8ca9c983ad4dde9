import { setFlagsFromString } from 'node:v8'
import { Command, InvalidArgumentError, Option } from 'commander'
import { expectBriefWork } from '../src/internal.js'
import { addAccess } from './commands/access.js'
import { addAdd } from './commands/add.js'
import { addCheck } from './commands/check.js'
import { addCompletion } from './commands/completion.js'
import { addDb } from './commands/db.js'
import { addDoctor } from './commands/doctor.js'
import { addDump } from './commands/dump.js'
import { addExplain } from './commands/explain.js'
import { addIntrospect } from './commands/introspect.js'
import { addKeys } from './commands/keys.js'
import { addMigrate } from './commands/migrate.js'
import { addNew } from './commands/new.js'
import { addOpenApi } from './commands/openapi.js'
import { addRoutes } from './commands/routes.js'
import { addSeed } from './commands/seed.js'
import { addServe } from './commands/serve.js'
import { addToken } from './commands/token.js'
import { addTypes } from './commands/types.js'
import { addUrl } from './commands/url.js'
import type { CliContext } from './context.js'

/** All commands, in the order of the help. A new command is one file and one line here. */
const COMMANDS: readonly ((program: Command, context: CliContext) => void)[] = [
  addNew,
  addServe,
  addRoutes,
  addUrl,
  addOpenApi,
  addTypes,
  addCheck,
  addAccess,
  addKeys,
  addToken,
  addExplain,
  addAdd,
  addMigrate,
  addSeed,
  addDump,
  addIntrospect,
  addDb,
  addDoctor,
  addCompletion,
]

/**
 * Builds the command line. Running a command calls `context.finish` with its exit code. Parsing invalid arguments throws CommanderError, after printing
 * the reason.
 */
export function createProgram(context: CliContext): Command {
  const program = new Command('snippetctl')
    .description('resources.yaml in, a REST API over PostgreSQL out')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    // Options of the program are recognised only before the command, so that a command can have its own `--version`.
    .enablePositionalOptions()
  for (const add of COMMANDS) add(program, context)
  for (const command of everyCommand(program)) {
    prepare(command, context)
  }
  program.hook('preAction', (_program, command) => {
    const failure = context.envFile?.failure
    if (failure && !WITHOUT_ENV_FILE.has(command.name())) throw failure
    if (command.name() === 'serve') letNewSpaceGrow()
    else expectBriefWork()
  })
  return program.addHelpText('after', EXIT_CODES)
}

/** Restores V8's default, which `bin/start.mjs` replaces. */
function letNewSpaceGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

const EXIT_CODES = `
Exit codes:
  0  done
  1  negative result: errors in the configuration or in data, an unknown route name, pending migrations
  2  could not run: an invalid flag, a missing file, a port in use, an unavailable database
  3  the confirmation is missing: the command has no terminal to ask on, or the answer was wrong`

function* everyCommand(command: Command): Generator<Command> {
  yield command
  for (const child of command.commands) yield* everyCommand(child)
}

/** Commands that read no configuration. */
const WITHOUT_CONFIG: ReadonlySet<string> = new Set(['new', 'completion', '__complete'])

/** Commands that need no variables, and `doctor`, which reports what is wrong with `.env`. */
const WITHOUT_ENV_FILE: ReadonlySet<string> = new Set(['new', 'completion', '__complete', 'doctor'])

/** Sets up what all commands share: common options, output streams, and errors instead of exits. */
function prepare(command: Command, context: CliContext): void {
  const { colors, line } = context.err
  if (command.commands.length === 0 && !WITHOUT_CONFIG.has(command.name())) {
    command.addOption(
      new Option('--config <file>', 'the configuration').env('SNIPPETCTL_CONFIG').default('resources.yaml'),
    )
  }
  for (const option of command.options) if (option.flags.endsWith(' <file>')) option.argParser(parseFile)
  for (const argument of command.registeredArguments) if (argument.name() === 'file') argument.argParser(parseFile)
  command
    .option('--no-color', 'never colour the output')
    .option('--debug', 'show the stack of an unexpected error')
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureHelp({
      styleTitle: (text) => context.out.colors.bold(text),
      styleCommandText: (text) => context.out.colors.cyan(text),
      styleSubcommandText: (text) => context.out.colors.cyan(text),
      styleOptionText: (text) => context.out.colors.cyan(text),
      styleArgumentText: (text) => context.out.colors.cyan(text),
    })
    .configureOutput({
      getOutHelpWidth: () => context.out.width,
      getErrHelpWidth: () => context.err.width,
      getOutHasColors: () => context.out.colors.isColorSupported,
      getErrHasColors: () => context.err.colors.isColorSupported,
      writeOut: (text) => context.out.line(text.trimEnd()),
      writeErr: (text) => line(text.trimEnd()),
      outputError: (text) => line(withHelpLine(text).replace(/^error:/, colors.red('error:'))),
    })
}

/** An empty path would be the current folder. */
function parseFile(path: string): string {
  if (path === '') throw new InvalidArgumentError('It must name a file.')
  return path
}

/** Turns commander's "Did you mean …?" into a help line like all others. */
function withHelpLine(text: string): string {
  return text
    .trimEnd()
    .replace(
      /\n?\(Did you mean (?:one of )?(.+)\?\)$/,
      (_, names: string) => `\n  = help: a similar name exists: ${names}`,
    )
}
