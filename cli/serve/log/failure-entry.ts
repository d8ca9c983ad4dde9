import type { CliContext } from '../../context.js'
import { explainError } from '../../explain-error.js'
import { Finished } from '../../failure.js'
import type { Log } from './log.js'

interface Reason {
  readonly msg: string
  readonly help?: readonly string[]
}

/** Why something failed, for the log; undefined if the log has it. */
export function reasonOf(error: unknown, context: CliContext): Reason | undefined {
  if (error instanceof Finished) return error.reason === undefined ? undefined : { msg: error.reason }
  const { messages, help } = explainError(error, context)
  return { msg: messages.join('; '), help: help.map(context.withConfig) }
}

interface Logged<T> {
  readonly log: Log
  readonly work: () => Promise<T>
}

/** Runs a server. The error that ends it is also in the log, unless that goes to a terminal, where the error is printed. */
export async function loggingFailure<T>(
  context: CliContext,
  { json }: { readonly json?: true },
  { log, work }: Logged<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOf(error, context)
    if (reason && (json || !context.out.terminal)) log.error({ event: 'serve_failed', ...reason })
    throw error
  }
}
