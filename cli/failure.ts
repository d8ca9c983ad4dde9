import type { Problem } from '../src/internal.js'

/** 0: done. 1: the command ran and the answer is no. 2: the command could not run. 3: a confirmation is missing. */
export type ExitCode = 0 | 1 | 2 | 3

/** Ends a command with a message of one line, help and an exit code. `main.ts` prints it. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: ExitCode
  /** Sentences, printed as `help:` lines. */
  readonly help: readonly string[]

  constructor(code: ExitCode, message: string, help: readonly string[] = [], cause?: unknown) {
    super(message, { cause })
    this.code = code
    this.help = help
  }
}

/** Why a file cannot be read, by the error of Node. */
export function whyUnreadable({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' ? 'there is no such file' : message
}

/** Ends a command that has already printed its errors. */
export class Finished extends Error {
  override readonly name = 'Finished'
  readonly code: ExitCode
  /** The error that was printed, for logs; undefined if it is in the log. */
  readonly reason: string | undefined

  constructor(code: ExitCode, reason?: string) {
    super(`finished with exit code ${code}`)
    this.code = code
    this.reason = reason
  }
}

/** SQLSTATEs of a table or a column that is missing. */
const NAMES_OBJECT = /^(?:42|3F)/
const NO_PRIVILEGE = '42501'

/**
 * Describes a failed statement to the operator, with the server's words about the object that it lacks. A client only sees the message, and that of
 * an unknown outcome is about its request.
 */
export function describeProblem({ type, message, cause }: Problem): string {
  if (type === 'outcome_unknown') return 'the database did not report the outcome of a statement'
  const { code, message: reason = '' } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string }
  if (code === NO_PRIVILEGE) return `the user of the database lacks a privilege: ${reason}`
  return NAMES_OBJECT.test(String(code)) ? `${message}: ${reason}` : message
}
