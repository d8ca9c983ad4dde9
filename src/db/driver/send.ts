import type pg from 'pg'
import { cancelStatement } from './cancel.js'
import { type StatementResult, CellQuery, type Sending } from './cell-query.js'
import { append, createLinkedList, type ListNode, remove, valuesOf } from '../../foundation/linked-list.js'
import type { Statement } from '../database.js'
import { isBroken } from './errors.js'
import { NOT_REPLICATED, SILENCE } from './outcome.js'
import type { RowClient } from './row-messages.js'

/** How long the server may take to report the outcome of a canceled statement, in ms. */
const CANCEL_TIMEOUT_MS = 1_000
/** How often the statements under way are checked, in ms. */
const CHECK_INTERVAL_MS = 50

/**
 * Receives the outcome of a statement. After an error too, `answer` holds what the server had sent before it.
 * @param spent whether the connection must not be used again
 */
type Settle = (error: Error | null, answer: StatementResult, spent: boolean) => void

/** Sends a statement on one connection of the driver. */
export type Send = (client: pg.ClientBase, statement: Statement, settle: Settle) => void

interface Sent {
  readonly client: pg.ClientBase
  readonly query: CellQuery
  /** The time from which the server counts as silent for too long. */
  due: number
  canceled: boolean
}

/**
 * When the server is silent for too long, a cancel request is sent, and the answer is awaited a little longer: only the server knows
 * the outcome. One interval checks all statements: a timer for each would be a noticeable part of the cost of a small statement.
 */
export function createSend(sending: Sending): Send {
  const { patience } = sending
  const underWay = createLinkedList<Sent>()
  let interval: NodeJS.Timeout | undefined

  const giveUp = (now: number): void => {
    for (const sent of valuesOf(underWay)) {
      const { client, query, due, canceled } = sent
      if (due > now) continue
      if (canceled) {
        query.callback(new Error(SILENCE), query.answer)
        continue
      }
      sent.canceled = true
      sent.due = performance.now() + CANCEL_TIMEOUT_MS
      cancelStatement(client)
    }
  }

  const check = (): void => {
    const now = performance.now()
    // A process that was suspended or busy runs its timers before it reads the answers that have arrived.
    if (valuesOf(underWay).some(({ due }) => due <= now)) setImmediate(giveUp, now)
    if (underWay.length > 0) return
    clearInterval(interval)
    interval = undefined
  }

  return (client, statement, settle) => {
    const query = new CellQuery(statement, sending, (error, answer) => {
      if (isSettled) return
      isSettled = true
      place = remove(place)
      const failure = error ?? (isUnreplicated(client) ? new Error(NOT_REPLICATED) : null)
      settle(failure, answer, sent.canceled || (error !== null && isBroken(error)))
    })
    let isSettled = false
    let place: ListNode<Sent> | undefined
    const sent: Sent = { client, query, due: Infinity, canceled: false }
    if (patience !== undefined) {
      sent.due = performance.now() + patience
      place = append(underWay, sent)
      interval ??= setInterval(check, CHECK_INTERVAL_MS).unref()
    }
    client.query(query)
  }
}

/** Whether the server has reported, since the last call, that a commit reached no standby. */
function isUnreplicated(client: pg.ClientBase): boolean {
  const { notices } = client as RowClient
  if (!notices.unreplicated) return false
  notices.unreplicated = false
  return true
}
