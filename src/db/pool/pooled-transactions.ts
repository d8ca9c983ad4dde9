import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Connection, Database, InternalTransactionOptions, QueueKey } from '../database.js'
import { isTransient, toProblem } from '../driver/errors.js'
import type { Send } from '../driver/send.js'
import { type End, openingOf, runTransaction } from '../driver/transaction.js'
import type { Connect } from './connect.js'
import type { FairQueue } from './fair-queue.js'
import type { WorkQueue } from './work-queues.js'

interface TransactionsParts {
  readonly connect: Connect
  readonly queue: FairQueue
  readonly send: Send
  /** Sends statements that may take any time. */
  readonly sendUnlimited: Send
  /** Ends the transactions in progress; one function each. */
  readonly ends: Set<End>
}

const MAX_RERUNS = 3

/** Runs transactions, each on a connection of its own, and again after deadlocks and serialization failures. */
export function createTransactions({
  connect: take,
  queue,
  send,
  sendUnlimited,
  ends,
}: TransactionsParts): Database['transaction'] {
  /** Waits until a connection is granted or the signal aborts. */
  const enter = (work: QueueKey & { readonly follows: boolean }, signal: AbortSignal | undefined): Promise<WorkQueue> =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const abort = (): void => {
        giveUp?.()
        reject(signal?.reason as Error)
      }
      const giveUp = queue.enter(work, (rejected, granted) => {
        signal?.removeEventListener('abort', abort)
        if (rejected) reject(rejected)
        else resolve(granted)
      })
      if (giveUp) signal?.addEventListener('abort', abort, { once: true })
    })

  const connect = (): Promise<pg.PoolClient> =>
    new Promise((resolve, reject) =>
      take((error, client) => {
        if (client) resolve(client)
        else reject(toProblem(error ?? new Error('the pool returned no connection')))
      }),
    )

  return async <T>(
    work: (connection: Connection) => Promise<T>,
    options: InternalTransactionOptions = {},
  ): Promise<T> => {
    const { snapshot, unlimited, signal, enforce, queueKey } = options
    const parts = { send: unlimited ? sendUnlimited : send, opening: openingOf(options), ends, signal, enforce }
    for (let reruns = 0; ; reruns++) {
      // A transaction that was accepted is not rejected after a deadlock.
      const granted = await enter({ ...queueKey, follows: reruns > 0 }, signal)
      try {
        return await runTransaction(await connect(), work, parts)
      } catch (error) {
        // The caller may already have passed on rows of the snapshot.
        if (snapshot || reruns === MAX_RERUNS || !isTransient(error)) throw error
      } finally {
        queue.leave(granted)
      }
      await delay(Math.random() * 20 * 2 ** reruns)
    }
  }
}
