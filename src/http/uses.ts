/** Counts the uses of something that must not be closed while it is used. */
export interface Uses {
  begin(): void
  end(): void
  /** Resolves when nothing uses it. To be asked once no new uses begin by themselves. */
  ended(): Promise<void>
}

export function createUses(): Uses {
  let count = 0
  let resolve = () => {}
  return {
    begin: () => {
      count += 1
    },
    end: () => {
      count -= 1
      if (count === 0) resolve()
    },
    ended: () =>
      new Promise((settle) => {
        resolve = settle
        if (count === 0) settle()
      }),
  }
}
