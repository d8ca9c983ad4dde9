import { type Command, CommanderError } from 'commander'
import { type CliContext, createContext, type Lifecycle, type ProcessInputs } from './context.js'
import { explainError } from './explain-error.js'
import { type ExitCode, Finished } from './failure.js'
import { createProgram } from './program.js'
import { completeCommands } from './suggested-commands.js'

/** Runs one command line. `finish` of the lifecycle is called with its exit code in every case. */
export async function runCommandLine(inputs: ProcessInputs, lifecycle: Lifecycle): Promise<void> {
  let command: Command | undefined
  const context = createContext(inputs, lifecycle, (text) => (command ? completeCommands(text, command) : text))
  try {
    const program = createProgram(context).hook('preAction', (_program, running) => {
      command = running
    })
    await program.parseAsync(inputs.argv, { from: 'user' })
  } catch (error) {
    context.finish(report(context, command, error))
  }
}

/** Prints an error and returns the exit code for it. */
function report(context: CliContext, command: Command | undefined, error: unknown): ExitCode {
  if (error instanceof Finished) return error.code
  // Commander has already printed the message or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const { messages, help, code, stack } = explainError(error, context, command)
  const { colors, line } = context.err
  if (context.debug && stack instanceof Error) line(colors.dim(stack.stack ?? ''))
  for (const message of messages) line(`${colors.red('error:')} ${message}`)
  for (const text of help) line(`  ${colors.cyan('= help:')} ${text}`)
  return code
}
