import { Problem } from '../../foundation/problem.js'

/** How far a producer may be ahead of its reader. */
export interface Ahead {
  /** In characters; the piece that exceeds it is the last one before the producer waits. */
  readonly length: number
  /** How long the producer waits while the reader takes nothing, in ms. */
  readonly patience: number
}

/** Passes on a piece; resolves when there is room for another. */
export type Put = (piece: string) => Promise<void>

/**
 * Yields the pieces that `produce` puts. The producer runs ahead of the reader as far as memory allows, so that it ends soon, and fails if the reader
 * takes nothing for too long. `produce` starts when the first piece is requested.
 */
export async function* readAhead(
  produce: (put: Put) => Promise<void>,
  { length, patience }: Ahead,
): AsyncGenerator<string, void> {
  const pieces: string[] = []
  let held = 0
  let wakeReader = () => {}
  let room: { resolve(): void; extend(): void } | undefined
  let end: { readonly error?: unknown } | undefined

  const put: Put = (piece) => {
    pieces.push(piece)
    held += piece.length
    wakeReader()
    if (held <= length) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Problem('timeout', 'the client reads the response too slowly'))
      const timer = setTimeout(giveUp, patience)
      room = {
        resolve() {
          clearTimeout(timer)
          room = undefined
          resolve()
        },
        extend: () => timer.refresh(),
      }
    })
  }
  const finish = (result: NonNullable<typeof end>) => {
    end = result
    wakeReader()
  }
  produce(put).then(
    () => finish({}),
    (error: unknown) => finish({ error }),
  )
  try {
    for (;;) {
      // Pieces that were read before a failure are not worth sending.
      if (end && 'error' in end) throw end.error
      const piece = pieces.shift()
      if (piece !== undefined) {
        held -= piece.length
        if (held <= length) room?.resolve()
        else room?.extend()
        yield piece
      } else if (end) return
      else
        await new Promise<void>((resolve) => {
          wakeReader = resolve
        })
    }
  } finally {
    room?.resolve()
  }
}
