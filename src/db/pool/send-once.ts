import type { Statement } from '../database.js'
import { abortOn } from '../driver/cancel.js'
import { toProblem } from '../driver/errors.js'
import type { Send } from '../driver/send.js'
import type { FairQueue } from './fair-queue.js'
import type { Handover } from './handover.js'
import { timed, type TimedResult } from './pipelined-connections.js'

interface OnceParts {
  readonly queue: FairQueue
  readonly handover: Handover
  readonly send: Send
}

/** Waits for a connection and sends a statement once. */
export type SendOnce = (statement: Statement) => Promise<TimedResult>

/** Uses callbacks, because the promises on the path of every statement would cost more than the work. */
export function createSendOnce({ queue, handover, send }: OnceParts): SendOnce {
  return (statement) =>
    new Promise((resolve, reject) => {
      const { signal } = statement
      signal?.throwIfAborted()
      const abortable = signal && abortOn(signal, reject)
      const fail = (error: Error): void => {
        abortable?.over()
        reject(error)
      }
      const giveUp = queue.enter(statement, (rejected, granted) => {
        if (rejected) return fail(rejected)
        handover.take((rejected, client) => {
          if (!client) {
            queue.leave(granted)
            return fail(toProblem(rejected ?? new Error('the pool returned no connection')))
          }
          // Rejected already, while the connection was made.
          if (signal?.aborted) return handover.offer(client, () => queue.leave(granted))
          abortable?.sent(client)
          const sent = performance.now()
          send(client, statement, (error, answer, isDone) => {
            const time = performance.now() - sent
            const isSpent = abortable?.over() || isDone
            if (error || isSpent) {
              client.release(isSpent)
              queue.leave(granted, time)
            } else handover.offer(client, () => queue.leave(granted, time))
            if (error) reject(error)
            else resolve(timed(answer, time))
          })
        })
      })
      abortable?.waits(giveUp)
    })
}
