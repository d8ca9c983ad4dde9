import type pg from 'pg'
import { cancelStatement } from './cancel.js'
import { type Answer, CellQuery, type Sending } from './cell-query.js'
import type { Statement } from '../database.js'
import { isBroken } from './errors.js'
import { NOT_REPLICATED, SILENCE } from './outcome.js'
import type { RowClient } from './row-messages.js'

/** Milliseconds in which the server may say what became of a statement that it was asked to cancel. */
const CANCEL_PATIENCE = 1_000

/**
 * What came of a statement. With an error too, `answer` is what the server had said before it.
 * @param spent whether the connection must not be used again
 */
type Told = (error: Error | null, answer: Answer, spent: boolean) => void

/**
 * Sends a statement on one connection of the driver. When the server is silent for too long, it is asked to cancel the statement, and its answer
 * is waited for a little longer: only the server knows what became of it.
 */
export function send(client: pg.ClientBase, statement: Statement, sending: Sending, tell: Told): void {
  const { patience } = sending
  let timer: NodeJS.Timeout | undefined
  let over = false
  let canceled = false
  const query = new CellQuery(statement, sending, (error, answer) => {
    if (over) return
    over = true
    clearTimeout(timer)
    const failure = error ?? (isUnreplicated(client) ? new Error(NOT_REPLICATED) : null)
    tell(failure, answer, canceled || (error !== null && isBroken(error)))
  })
  const later = (milliseconds: number, act: () => void): void => {
    // A process that was stopped or busy finds its timers due before it has read what came meanwhile.
    timer = setTimeout(() => setImmediate(() => !over && act()), milliseconds)
  }
  if (patience !== undefined)
    later(patience, () => {
      canceled = true
      cancelStatement(client)
      later(CANCEL_PATIENCE, () => query.callback(new Error(SILENCE), query.answer))
    })
  client.query(query)
}

/** Whether the server has said of a commit that no standby has it, since it was last asked. */
function isUnreplicated(client: pg.ClientBase): boolean {
  const { notices } = client as RowClient
  if (!notices.unreplicated) return false
  notices.unreplicated = false
  return true
}
