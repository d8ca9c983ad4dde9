import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Half the time that a test may take: the failure then shows what was last seen, and no loop outlives its test. */
const LIMIT_MS = 120_000
/** Polling faster would take processor time from the processes under test. */
const INTERVAL_MS = 10

/** Calls `look` again and again until its result is as wanted, and returns the result. */
export async function waitUntil<T>(look: () => T | Promise<T>, isWanted: (found: T) => boolean = Boolean): Promise<T> {
  const start = performance.now()
  for (;;) {
    const found = await look()
    if (isWanted(found)) return found
    if (performance.now() - start > LIMIT_MS)
      throw new Error(`after ${LIMIT_MS / 1_000} s, it is still ${inspect(found)}`)
    await delay(INTERVAL_MS)
  }
}
