import { toPlace } from './exchange.js'
import type { Log } from '../log.js'
import type { FindPlace } from '../route.js'
import { endsWithin } from './ends-within.js'

/** What a plugin does when what it registered has answered its last request. */
export interface Closing {
  /** The plugin. */
  readonly source: string
  /** Where it was registered. */
  readonly place: FindPlace
  readonly work: () => unknown
}

/** Milliseconds that all of them may take together. */
const CLOSING_TIMEOUT = 2_000

/** Closes what plugins have open. The first call does so, and all of them wait for it. */
export type Close = (log: Log) => Promise<void>

export function closeOnce(closings: readonly Closing[]): Close {
  let closing: Promise<void> | undefined
  return (log) => (closing ??= runClosings(closings, log))
}

/**
 * Runs closings one after the other, the last registered first. Each is waited for as long as its share of the time that is left, so that one
 * that hangs leaves the others their turn. Errors are logged, and closings that have not ended when the time is up.
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
