/**
 * Thrown for migrations that cannot be read, planned or run. `faults` are the errors, one sentence each; `help` suggests repairs. The failed
 * migration was rolled back.
 */
export class MigrationError extends Error {
  override name = 'MigrationError'
  readonly faults: readonly string[]
  readonly help: readonly string[]

  constructor(faults: readonly string[], help: readonly string[] = [], cause?: unknown) {
    super(faults.join('\n'), { cause })
    this.faults = faults
    this.help = help
  }
}
