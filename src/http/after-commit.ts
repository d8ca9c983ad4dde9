import { setImmediate } from 'node:timers/promises'
import { codeUnderWay, type Exchange } from './server/exchange.js'
import type { Log } from './log.js'
import type { Context } from './route.js'
import { endsWithin } from './server/ends-within.js'

/** What is done after the commit of a transaction. */
export type Task = (context: Context) => unknown

/** Runs what nobody waits for. */
export interface Later {
  /** One after the other; one that throws, or takes too long, is logged, and keeps none of the others from running. */
  run(exchange: Exchange, tasks: readonly Task[], context: Context): Promise<void>
}

/** Work that follows answers. Only the end of the service, or of its version of the application, waits for it. */
export function createLater(log: Log, timeout: number): Later {
  const run: Later['run'] = async (exchange, tasks, context) => {
    const { requestId, route, trace } = exchange
    // The answer goes first.
    await setImmediate()
    for (const task of tasks) {
      try {
        await inTime(task(context), timeout)
      } catch (cause) {
        const where = { request_id: requestId, trace_id: trace?.traceId, route: route?.name }
        log.error({ event: 'failure', ...where, type: 'after_commit', ...codeUnderWay(exchange), cause })
      }
    }
  }

  return { run }
}

/** @throws Error when it has not ended by then; nothing can stop it, so it is only no longer waited for */
async function inTime(running: unknown, milliseconds: number): Promise<void> {
  if (await endsWithin(running, milliseconds)) return
  throw new Error(
    `what follows a commit has not ended within ${milliseconds / 1000} seconds; it is no longer waited for`,
  )
}
