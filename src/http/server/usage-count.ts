/** Counts the users of something that must not be closed while it is used. */
export interface Uses {
  begin(): void
  end(): void
  /** Resolves once the count is 0. It does not wait for work that starts later, so no new work may start. */
  ended(): Promise<void>
}

export function createUses(): Uses {
  let count = 0
  const waiting: (() => void)[] = []
  return {
    begin: () => {
      count += 1
    },
    end: () => {
      count -= 1
      if (count === 0) for (const resolve of waiting.splice(0)) resolve()
    },
    ended: () =>
      new Promise((resolve) => {
        if (count === 0) resolve()
        else waiting.push(resolve)
      }),
  }
}
