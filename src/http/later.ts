import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { codeUnderWay, type Exchange } from './exchange.js'
import type { Log } from './log.js'
import type { Context } from './route.js'

/** What is done after the commit of a transaction. */
export type Task = (context: Context) => unknown

/** Runs what nobody waits for. */
export interface Later {
  /** One after the other; one that throws, or takes too long, is logged, and keeps none of the others from running. */
  run(exchange: Exchange, tasks: readonly Task[], context: Context): Promise<void>
  /** Resolves when nothing is left to do, or after so many milliseconds. */
  idle(timeout: number): Promise<void>
}

/** Work that follows answers, and is waited for only by who stops the service. */
export function createLater(log: Log, timeout: number): Later {
  const running = new Set<Promise<void>>()

  const work = async (exchange: Exchange, tasks: readonly Task[], context: Context) => {
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

  return {
    run(exchange, tasks, context) {
      const promise = work(exchange, tasks, context).finally(() => running.delete(promise))
      running.add(promise)
      return promise
    },

    async idle(timeout) {
      if (running.size === 0) return
      const over = new AbortController()
      const late = delay(timeout, undefined, { signal: over.signal }).catch(() => {})
      await Promise.race([Promise.all(running), late])
      over.abort()
    },
  }
}

/** @throws Error when it has not settled by then; nothing can stop it, so it is only no longer waited for */
async function inTime(running: unknown, milliseconds: number): Promise<void> {
  const over = new AbortController()
  const late = delay(milliseconds, undefined, { signal: over.signal }).then(() => {
    throw new Error(
      `what follows a commit has not ended within ${milliseconds / 1000} seconds; it is no longer waited for`,
    )
  })
  late.catch(() => {})
  await Promise.race([running, late]).finally(() => over.abort())
}
