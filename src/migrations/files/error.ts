/**
 * Thrown for migrations that cannot be read, planned or run. `errors` has a sentence for each error; `help` suggests repairs. A failed
 * migration was rolled back, except for the finished statements of a file that runs outside of a transaction.
 */
export class MigrationError extends Error {
  override name = 'MigrationError'
  readonly errors: readonly string[]
  readonly help: readonly string[]

  constructor(errors: readonly string[], help: readonly string[] = [], cause?: unknown) {
    super(errors.join('\n'), { cause })
    this.errors = errors
    this.help = help
  }
}
