import type { Connection, Statement } from '../database.js'
import type { StatementResult } from './cell-query.js'

interface OpenTransaction {
  send(statement: Statement): Promise<StatementResult>
  /** Returns a function that forgets failures since the call, because a savepoint has undone them. */
  rememberFailure(): () => void
  readonly repeat: NonNullable<Connection['repeat']>
}

/**
 * Returns a connection in a transaction whose attempts and savepoints undo no more than their own statements.
 * @param depth the number of savepoints around it
 * @param isReleased whether one of them has ended
 */
export function connectionIn(transaction: OpenTransaction, depth = 0, isReleased = () => false): Connection {
  const name = `attempt${depth}`
  let attempting: Promise<unknown> | undefined
  const send = async (statement: Statement): Promise<StatementResult> => {
    if (isReleased()) throw new Error('a statement was sent after the generated operation that it belongs to had ended')
    return transaction.send(statement)
  }
  const query = async (statement: Statement): Promise<StatementResult> => {
    // A failed attempt would also undo statements that run in the meantime.
    while (attempting) await attempting
    return send(statement)
  }
  const attemptAlone = async <R>(work: () => Promise<R>): Promise<R> => {
    const forgetFailures = transaction.rememberFailure()
    const release = () => send({ text: `release savepoint ${name}`, values: [] })
    await send({ text: `savepoint ${name}`, values: [] })
    try {
      const result = await work()
      await release()
      return result
    } catch (error) {
      await send({ text: `rollback to savepoint ${name}`, values: [] })
      forgetFailures()
      // Otherwise the next savepoint would be inside of this one.
      await release()
      throw error
    }
  }
  const inTurn = async <R>(work: () => Promise<R>): Promise<R> => {
    while (attempting) await attempting
    const attempted = attemptAlone(work)
    attempting = attempted.catch(() => {})
    try {
      return await attempted
    } finally {
      attempting = undefined
    }
  }
  return {
    query,
    attempt: (statement) => inTurn(() => send(statement)),
    savepoint: (work) => {
      let isSettled = false
      const inner = connectionIn(transaction, depth + 1, () => isSettled || isReleased())
      return inTurn(() =>
        work(inner).finally(() => {
          isSettled = true
        }),
      )
    },
    repeat: transaction.repeat,
  }
}
