/** The result of one check of `doctor`. */
export interface Finding {
  /** The name of the check. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** Repairs, usually commands. */
  readonly help: readonly string[]
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message, help: [] })
