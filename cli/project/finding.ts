/** The result of one check of `doctor`. */
export interface Finding {
  /** The name of the check. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** Repairs, usually commands. */
  readonly help: readonly string[]
}

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message, help: [] }
}
