import { toPlace } from './exchange.js'
import type { Log } from '../log.js'
import type { FindPlace } from '../route.js'
import { endsWithin } from '../connections/ends-within.js'

/** A plugin's `onClose` callback. */
export interface Closing {
  /** The plugin. */
  readonly source: string
  /** Where it was registered. */
  readonly place: FindPlace
  readonly work: () => unknown
}

/** The time limit for all callbacks together, in ms. */
const CLOSING_TIMEOUT = 2_000

/** Runs the callbacks. Only the first call does so; all calls wait for the end. */
export type Close = (log: Log) => Promise<void>

export function closeOnce(closings: readonly Closing[]): Close {
  let closing: Promise<void> | undefined
  return (log) => (closing ??= runClosings(closings, log))
}

/**
 * Runs callbacks one after another, the last registered first. Each gets its share of the remaining time, so that one that hangs does not starve the
 * others. Errors and timeouts are logged.
 */
async function runClosings(closings: readonly Closing[], log: Log): Promise<void> {
  const started = performance.now()
  const timeLeft = () => Math.max(0, CLOSING_TIMEOUT - (performance.now() - started))
  const pending = new Set<Closing>()
  const report = ({ source, place }: Closing, cause: unknown) =>
    log.error({ event: 'failure', type: 'on_close', source, ...toPlace(place()), cause })
  const run = async (closing: Closing): Promise<void> => {
    pending.add(closing)
    try {
      await closing.work()
    } catch (cause) {
      if (pending.has(closing)) report(closing, cause)
    }
    pending.delete(closing)
  }

  const runs: Promise<void>[] = []
  for (const [index, closing] of [...closings].reverse().entries()) {
    const running = run(closing)
    runs.push(running)
    await endsWithin(running, timeLeft() / (closings.length - index))
  }
  if (pending.size > 0) await endsWithin(Promise.all(runs), timeLeft())
  const late = [...pending]
  pending.clear()
  for (const closing of late) report(closing, new Error(`not done after ${CLOSING_TIMEOUT} ms`))
}
