/** 0 done; 1 ran and the answer is no; 2 could not run; 3 refused for want of a confirmation. */
export type ExitCode = 0 | 1 | 2 | 3

/** Why a command ends early: one line, what would be right, and the exit code. Printed by `main.ts`. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: ExitCode
  /** One sentence each; printed as `help:` lines. */
  readonly help: readonly string[]

  constructor(code: ExitCode, message: string, help: readonly string[] = [], cause?: unknown) {
    super(message, { cause })
    this.code = code
    this.help = help
  }
}

/** A command that has printed all there is to say: only its exit code is left. */
export class Finished extends Error {
  override readonly name = 'Finished'
  readonly code: ExitCode

  constructor(code: ExitCode) {
    super(`finished with exit code ${code}`)
    this.code = code
  }
}
