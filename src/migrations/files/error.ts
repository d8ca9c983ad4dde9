/**
 * Thrown for migrations that cannot be read, planned or run. `errors` has a sentence for each error; `help` suggests repairs. The failed
 * migration was rolled back.
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
