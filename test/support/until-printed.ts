import { once } from 'node:events'
import type { Readable } from 'node:stream'

/**
 * Waits for the output of a process, which the test collects itself, until it is as wanted.
 * @throws if the process ends before
 */
export async function untilPrinted(stream: Readable, isPrinted: () => boolean): Promise<void> {
  while (!isPrinted()) await nextOutput(stream)
}

/**
 * Waits until a process prints more.
 * @throws if it ends before
 */
export async function nextOutput(stream: Readable): Promise<void> {
  const done = new AbortController()
  const { signal } = done
  const rejectEnd = () => Promise.reject(new Error('the process ended before it printed what the test waits for'))
  if (stream.readableEnded || stream.destroyed) return rejectEnd()
  try {
    await Promise.race([once(stream, 'data', { signal }), once(stream, 'close', { signal }).then(rejectEnd)])
  } finally {
    done.abort()
  }
}
