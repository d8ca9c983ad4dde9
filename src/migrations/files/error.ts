/**
 * Migrations that cannot be read, planned or run. `faults` are all that is wrong, one sentence each; `help` says what
 * would be right. Nothing of the migration at fault was kept.
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
