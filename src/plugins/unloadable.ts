interface Mistake {
  /** A sentence that names the file and, where there is one, the line and column. */
  readonly message: string
  readonly help: readonly string[]
}

/** A plugin that cannot be loaded, with every reason that is known. */
export class Unloadable extends Error {
  override name = 'Unloadable'
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: readonly Mistake[], cause?: unknown) {
    super(mistakes.map(({ message }) => message).join('\n'), { cause })
    this.mistakes = mistakes
  }
}

/** The common case: one reason. */
export const unloadable = (message: string, help: readonly string[] = [], cause?: unknown): Unloadable =>
  new Unloadable([{ message, help }], cause)
