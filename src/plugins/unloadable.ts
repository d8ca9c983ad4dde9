interface Mistake {
  /** A sentence that names the file and, if known, the line and column. */
  readonly message: string
  readonly help: readonly string[]
}

/** Thrown for a plugin that cannot be loaded, with all known reasons. */
export class Unloadable extends Error {
  override name = 'Unloadable'
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: readonly Mistake[], cause?: unknown) {
    super(mistakes.map(({ message }) => message).join('\n'), { cause })
    this.mistakes = mistakes
  }
}

/** An error with a single reason. */
export function unloadable(message: string, help: readonly string[] = [], cause?: unknown): Unloadable {
  return new Unloadable([{ message, help }], cause)
}
