import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './log.js'

/** What a plugin does when what it registered has answered its last request. */
export interface Closing {
  /** The plugin. */
  readonly source: string
  readonly work: () => unknown
}

/** Milliseconds that all of it may take together. */
const CLOSING_TIMEOUT = 2_000

/** Runs closings, the last registered first. An error is logged and stops none of the others. */
export async function runClosings(closings: readonly Closing[], log: Log): Promise<void> {
  if (closings.length === 0) return
  const open = new Set(closings)
  const over = new AbortController()
  const late = delay(CLOSING_TIMEOUT, undefined, { signal: over.signal }).catch(() => {})
  await Promise.race([closeAll(open, log), late])
  over.abort()
  for (const { source } of open)
    log.error({ event: 'failure', type: 'on_close', source, cause: new Error(`not done after ${CLOSING_TIMEOUT} ms`) })
}

async function closeAll(open: Set<Closing>, log: Log): Promise<void> {
  for (const closing of [...open].reverse()) {
    try {
      await closing.work()
    } catch (cause) {
      if (open.has(closing)) log.error({ event: 'failure', type: 'on_close', source: closing.source, cause })
    }
    open.delete(closing)
  }
}
