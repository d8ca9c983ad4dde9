import { setTimeout as delay } from 'node:timers/promises'

interface WaitOptions {
  /** Whether the timer keeps the process alive; the default is true. */
  readonly ref?: boolean
}

/**
 * Waits for work for a limited number of milliseconds. It does not stop the work.
 * @returns whether the work ended in time
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
