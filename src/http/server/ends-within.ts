import { setTimeout as delay } from 'node:timers/promises'

interface WaitOptions {
  /** Whether the timer keeps the process alive; true when left out. */
  readonly ref?: boolean
}

/**
 * Waits for work, but at most this many milliseconds. Nothing stops the work: it is only no longer waited for.
 * @returns whether it has ended
 * @throws the error of the work
 */
export async function endsWithin(
  work: unknown,
  milliseconds: number,
  { ref = true }: WaitOptions = {},
): Promise<boolean> {
  const over = new AbortController()
  const late = delay(milliseconds, false, { ref, signal: over.signal }).catch(() => false)
  try {
    return await Promise.race([Promise.resolve(work).then(() => true), late])
  } finally {
    over.abort()
  }
}
