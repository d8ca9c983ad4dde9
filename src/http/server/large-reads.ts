/**
 * Lets reads of large lists begin one after another. Each takes some milliseconds of processor time in this process, and often more in the
 * database; many at once would keep all other requests waiting.
 */
export interface LargeReads {
  /** Runs a read that is expected to give so many bytes: at once if it is not large. */
  run<T>(bytes: number, read: () => Promise<T>): Promise<T>
}

const LARGE_BYTES = 128 * 1024
/** A slow read keeps the next one waiting for so many ms at most. */
const MAX_WAIT_MS = 20

export function createLargeReads(): LargeReads {
  const waiting: (() => void)[] = []
  let reading = 0
  let lastBegan = 0
  let timer: NodeJS.Timeout | undefined

  function begin(): void {
    reading += 1
    lastBegan = performance.now()
  }

  function beginNext(): void {
    clearTimeout(timer)
    timer = undefined
    const next = waiting.shift()
    if (!next) return
    begin()
    next()
    if (waiting.length > 0) timer = setTimeout(beginNext, MAX_WAIT_MS)
  }

  /** Resolves when it has begun. */
  function wait(): Promise<void> {
    timer ??= setTimeout(beginNext, MAX_WAIT_MS)
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  }

  async function runLarge<T>(read: () => Promise<T>): Promise<T> {
    const mayBegin = waiting.length === 0 && (reading === 0 || performance.now() - lastBegan >= MAX_WAIT_MS)
    if (mayBegin) begin()
    else await wait()
    try {
      return await read()
    } finally {
      reading -= 1
      if (reading === 0) beginNext()
    }
  }

  return { run: (bytes, read) => (bytes < LARGE_BYTES ? read() : runLarge(read)) }
}
