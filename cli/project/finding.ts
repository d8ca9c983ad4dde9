/** What was found of one thing that a project takes. */
export interface Finding {
  /** What was looked at. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** How it is repaired: a command, mostly. */
  readonly help: readonly string[]
}

/** A finding that nothing is wrong. */
export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message, help: [] })
