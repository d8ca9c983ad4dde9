/**
 * Lets reads of large lists begin one after another, because each takes some milliseconds of processor time in this process, and often more in the
 * database. While other requests are answered, a list also waits for the processor time that the one before it took from them.
 */
export interface LargeReads {
  /** Runs a read that is expected to return this many bytes; at once if it is small. */
  run<T>(bytes: number, read: () => Promise<T>): Promise<T>
  /** Counts a successful response of this many bytes; large reads give way to requests with small ones. */
  answered(bytes: number): void
}

const LARGE_BYTES = 128 * 1024
/** Far below the size of a large list, because a list may be shorter than expected. */
const SMALL_BYTES = 32 * 1024
/** A slow read keeps the next one waiting for at most this many ms. */
const MAX_WAIT_MS = 100
/** The longest pause after a read: a multiple of its time, and a number of ms. */
const MAX_PAUSE_RATIO = 7
const MAX_PAUSE_MS = 250

export function createLargeReads(): LargeReads {
  const waiting: (() => void)[] = []
  let reading = 0
  let lastBegan = 0
  let timer: NodeJS.Timeout | undefined
  let othersAnswered = 0

  const begin = (): void => {
    reading += 1
    lastBegan = performance.now()
  }

  const beginNext = (): void => {
    clearTimeout(timer)
    timer = undefined
    const next = waiting.shift()
    if (!next) return
    begin()
    next()
    if (waiting.length > 0) beginNextIn(MAX_WAIT_MS)
  }

  const beginNextIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(beginNext, milliseconds)
  }

  /** Resolves when it has begun. */
  const wait = (): Promise<void> => {
    timer ??= setTimeout(beginNext, MAX_WAIT_MS)
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  }

  const runLarge = async <T>(bytes: number, read: () => Promise<T>): Promise<T> => {
    const mayBegin = waiting.length === 0 && (reading === 0 || performance.now() - lastBegan >= MAX_WAIT_MS)
    if (mayBegin) begin()
    else await wait()
    const began = performance.now()
    const answeredBefore = othersAnswered
    try {
      return await read()
    } finally {
      reading -= 1
      if (reading > 0 || waiting.length === 0) {
        // The next one begins when the others end, or when it comes.
      } else if (othersAnswered === answeredBefore) beginNext()
      else beginNextIn(pauseAfter(bytes, performance.now() - began))
    }
  }

  return {
    run: (bytes, read) => (bytes < LARGE_BYTES ? read() : runLarge(bytes, read)),
    answered(bytes) {
      if (bytes <= SMALL_BYTES) othersAnswered += 1
    },
  }
}

/** Grows from nothing with the size of the list, so that no list is much slower than a slightly smaller one. */
function pauseAfter(bytes: number, took: number): number {
  return Math.min(MAX_PAUSE_MS, took * Math.min(MAX_PAUSE_RATIO, bytes / LARGE_BYTES - 1))
}
