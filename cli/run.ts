import { CommanderError } from 'commander'
import { DatabaseRejected, MigrationError, Problem } from '../src/internal.js'
import { type CliContext, createContext, type Lifecycle, type Surroundings } from './context.js'
import { type ExitCode, Failure, Finished } from './failure.js'
import { createProgram } from './program.js'

/** Runs one command line. `finish` of the lifecycle is called with its exit code in every case. */
export async function runCommandLine(surroundings: Surroundings, lifecycle: Lifecycle): Promise<void> {
  const context = createContext(surroundings, lifecycle)
  try {
    await createProgram(context).parseAsync(surroundings.argv, { from: 'user' })
  } catch (error) {
    context.finish(report(context, error))
  }
}

/** Prints an error and returns the exit code for it. */
function report(context: CliContext, error: unknown): ExitCode {
  if (error instanceof Finished) return error.code
  // Commander has already printed the message or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const known = EXPECTED.map((explain) => explain(error)).find((explained) => explained !== undefined)
  const { messages, help, code } = known ?? unexpected(context, error)
  const { colors, line } = context.err
  const stack = known === undefined ? error : error instanceof Error && error.cause
  if (context.debug && stack instanceof Error) line(colors.dim(stack.stack ?? ''))
  for (const message of messages) line(`${colors.red('error:')} ${message}`)
  for (const text of help) line(`  ${colors.cyan('= help:')} ${text}`)
  return code
}

interface Explained {
  readonly messages: readonly string[]
  readonly help: readonly string[]
  readonly code: ExitCode
}

/** Expected errors, each with the way it is printed. */
const EXPECTED: readonly ((error: unknown) => Explained | undefined)[] = [
  (error) => (error instanceof Failure ? { messages: [error.message], help: error.help, code: error.code } : undefined),
  (error) => (error instanceof DatabaseRejected ? { messages: [error.message], help: error.help, code: 2 } : undefined),
  (error) => (error instanceof MigrationError ? { messages: error.errors, help: error.help, code: 2 } : undefined),
  (error) =>
    error instanceof Problem && DATABASE_FAILURES.has(error.type)
      ? { messages: [error.message], help: ['see the state of the database: snippetctl doctor'], code: 2 }
      : undefined,
]

const DATABASE_FAILURES: ReadonlySet<string> = new Set(['unavailable', 'timeout', 'outcome_unknown'])

function unexpected({ debug }: CliContext, error: unknown): Explained {
  const help = debug ? [] : ['run it again with --debug for the stack, and report it']
  return { messages: [`unexpected: ${oneLine(error)}`], help, code: 2 }
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, ' ')
}
