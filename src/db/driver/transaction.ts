import type pg from 'pg'
import { cancelStatement, cutConnection } from './cancel.js'
import type { StatementResult } from './cell-query.js'
import type { Connection, InternalTransactionOptions, Statement } from '../database.js'
import { toProblem } from './errors.js'
import { isOutcomeUnknown, toOutcome } from './outcome.js'
import { connectionIn } from './savepoints.js'
import type { Send } from './send.js'

/** Ends a transaction that is not being committed yet: it is rolled back and fails with this reason. */
export type End = (reason: Error) => void

export interface TransactionParts {
  readonly send: Send
  /** The statements before those of `work`. */
  readonly opening: readonly string[]
  /** Ends the transactions in progress; one function each. */
  readonly ends: Set<End>
  readonly signal: AbortSignal | undefined
  readonly enforce: (() => void) | undefined
}

const BEGIN = {
  default: 'begin',
  serializable: 'begin isolation level serializable',
  snapshot: 'begin isolation level repeatable read, read only',
} as const
const LIFT_LIMITS = ['set local statement_timeout = 0', 'set local idle_in_transaction_session_timeout = 0']

/** Returns the statements that open a transaction. */
export function openingOf({ isolation, snapshot, unlimited }: InternalTransactionOptions): readonly string[] {
  return [BEGIN[snapshot ? 'snapshot' : (isolation ?? 'default')], ...(unlimited ? LIFT_LIMITS : [])]
}

/**
 * Commits the changes of `work`, or rolls them back. If the transaction is ended from outside, its connection is closed and its running statement
 * cancelled, whatever `work` does.
 */
export function runTransaction<T>(
  client: pg.PoolClient,
  work: (connection: Connection) => Promise<T>,
  { send, opening, ends, signal, enforce }: TransactionParts,
): Promise<T> {
  let phase: 'open' | 'closing' | 'cut' = 'open'
  let spent = false
  let asking = 0
  let failure: unknown
  let repeated: Error | undefined
  let ended = new Error('a statement was sent after its transaction had ended')

  const isCut = () => phase === 'cut'
  const ask = (statement: Statement): Promise<StatementResult> =>
    new Promise((resolve, reject) => {
      asking += 1
      send(client, statement, (error, answer, isSpent) => {
        asking -= 1
        spent ||= isSpent
        // Once the server has reported the commit, it is final.
        if (error === null || (answer.command === 'COMMIT' && !isOutcomeUnknown(error))) resolve(answer)
        else reject(error)
      })
    })
  const sendOpen = async (statement: Statement): Promise<StatementResult> => {
    enforce?.()
    if (phase !== 'open') throw ended
    if (repeated) throw repeated
    try {
      return await ask(statement)
    } catch (error) {
      if (isCut()) throw ended
      failure ??= toProblem(error)
      throw toProblem(error)
    }
  }
  const connection = connectionIn({
    send: sendOpen,
    rememberFailure() {
      const earlier = failure
      return () => {
        failure = earlier
      }
    },
    repeat(reason) {
      throw (repeated ??= reason)
    },
  })

  const commit = async (): Promise<void> => {
    phase = 'closing'
    const { command } = await ask({ text: 'commit', values: [] }).catch((error: unknown) => {
      throw toOutcome(error)
    })
    // After a failed statement the server answers COMMIT with ROLLBACK, even if `work` has caught the error.
    if (command === 'ROLLBACK') throw failure
  }
  const run = async (): Promise<T> => {
    try {
      for (const text of opening) await sendOpen({ text, values: [] })
      const result = await work(connection)
      if (isCut()) throw ended
      if (repeated) throw repeated
      await commit()
      return result
    } catch (error) {
      const isClosed = phase === 'closing'
      if (!isCut()) phase = 'closing'
      if (!isClosed && !isCut() && !spent) await ask({ text: 'rollback', values: [] }).catch(() => (spent = true))
      throw repeated ?? error
    }
  }

  return new Promise((resolve, reject) => {
    const end: End = (reason) => {
      if (phase !== 'open') return
      phase = 'cut'
      ended = reason
      if (asking > 0) cancelStatement(client)
      cutConnection(client)
      finish()
      reject(reason)
    }
    const abort = () => end(signal?.reason as Error)
    const finish = () => {
      ends.delete(end)
      signal?.removeEventListener('abort', abort)
    }
    const release = () => {
      if (isCut()) return
      finish()
      client.release(spent)
    }
    if (signal?.aborted) {
      client.release()
      return reject(signal.reason as Error)
    }
    ends.add(end)
    signal?.addEventListener('abort', abort)
    run().finally(release).then(resolve, reject)
  })
}
