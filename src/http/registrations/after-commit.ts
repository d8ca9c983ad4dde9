import { setImmediate } from 'node:timers/promises'
import { codeUnderWay, type Exchange, statementUnderWay } from '../server/exchange.js'
import type { Log } from '../log.js'
import type { Context } from '../route.js'
import { endsWithin } from '../connections/ends-within.js'

/** Work that runs after the commit of a transaction. */
export type Task = (context: Context) => unknown

/** Runs work that no response waits for. */
export interface AfterCommit {
  /** Runs tasks one after another. A task that throws or takes too long is logged; the others still run. */
  run(exchange: Exchange, tasks: readonly Task[], context: Context): Promise<void>
}

/** Runs tasks after the response. Only the end of the service, or of its version of the application, waits for them. */
export function createAfterCommit(log: Log, timeout: number): AfterCommit {
  const run: AfterCommit['run'] = async (exchange, tasks, context) => {
    const { requestId, route, trace } = exchange
    // Sends the response first.
    await setImmediate()
    for (const task of tasks) {
      try {
        await inTime(task(context), timeout)
      } catch (cause) {
        const where = { request_id: requestId, trace_id: trace?.traceId, route: route?.name }
        log.error({
          event: 'failure',
          ...where,
          type: 'after_commit',
          ...codeUnderWay(exchange),
          ...statementUnderWay(exchange),
          cause,
        })
      }
    }
  }

  return { run }
}

/** @throws Error if the work has not ended in time; it cannot be stopped and goes on */
async function inTime(running: unknown, milliseconds: number): Promise<void> {
  if (await endsWithin(running, milliseconds)) return
  throw new Error(
    `the after-commit task did not end within ${milliseconds / 1000} seconds; nothing waits for it any longer`,
  )
}
