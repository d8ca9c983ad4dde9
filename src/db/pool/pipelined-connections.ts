import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import {
  append,
  createLinkedList,
  type LinkedList,
  type ListNode,
  remove,
  valuesOf,
} from '../../foundation/linked-list.js'
import { createAdmission } from './admission.js'
import { type StatementResult, CellQuery, type Sending } from '../driver/cell-query.js'
import type { Statement } from '../database.js'
import { cutStream } from '../driver/cancel.js'
import { isBroken } from '../driver/errors.js'
import { codeOf } from '../driver/meanings.js'
import { SILENCE } from '../driver/outcome.js'
import { RowClient } from '../driver/row-messages.js'

/** Connections that send quick reads without waiting for earlier responses. */
export interface PipelinedConnections {
  /**
   * @param cost the expected milliseconds that the statement occupies its connection
   * @throws PipelineUnavailable if the statement waits behind a slow one or no connection can be opened, or the driver's error; both are safe to retry,
   * because the statement only reads. Problem `unavailable` if too many statements are in progress
   */
  query(statement: Statement, cost: number): Promise<TimedResult>
  /** Whether a connection can take another statement without a noticeable wait. */
  hasRoom(): boolean
  /**
   * Closes a connection once its statements are done, and opens none for a moment, because the server allows no further connection for the pool.
   * Returns, after a short time at most, whether a connection was open.
   */
  yieldOne(): Promise<boolean>
  /** Whether a response has arrived since this time of the process's clock. */
  hasAnsweredSince(time: number): boolean
  /** The number of connections, of statements in progress, and of rejected statements. */
  usage(): { readonly pipelinedConnections: number; readonly pipelinedStatements: number; readonly rejected: number }
  close(): Promise<void>
}

export interface TimedResult extends StatementResult {
  /** Milliseconds that others had to wait for this statement. */
  readonly time: number
}

/** Adds the duration of a statement to its result. Copies each property by name, because a spread takes ten times as long. */
export function timed({ rows, columns, count, command, bytes, size }: StatementResult, time: number): TimedResult {
  return { rows, columns, count, command, bytes, size, time }
}

export interface PipelinedOptions {
  readonly client: pg.ClientConfig
  /** The maximum number of connections. Another one is opened only when the others are busy. */
  readonly maxConnections: number
  /** Prepares a new connection. */
  readonly prepare: (client: pg.ClientBase) => Promise<void>
  readonly sending: Sending
}

/** No connection can take the statement: another one blocks it, or it cannot be opened. */
export class PipelineUnavailable extends Error {
  override name = 'PipelineUnavailable'
  /** Whether the statement was sent on a connection. */
  readonly waited: boolean

  constructor(message: string, waited: boolean) {
    super(message)
    this.waited = waited
  }
}

/** A statement without a response. */
interface Pending {
  readonly query: CellQuery
  readonly sent: number
  readonly giveUp: () => void
  /** How many checks have found it at the head of the queue. */
  checks: number
}

interface Pipelined {
  readonly client: pg.Client
  readonly ready: Promise<unknown>
  isReady: boolean
  readonly pending: LinkedList<Pending>
  /** Statements in progress, including those that wait for the connection to open, and the milliseconds that they are expected to take in all. */
  statements: number
  backlog: number
  /** When the last response arrived. */
  answered: number
  /** The statement at the head is slow, so no statement is sent behind it. */
  isBlocked: boolean
}

/**
 * A statement may be at the head of its connection for this many checks, at this interval in ms. Elapsed time alone would blame statements for a busy
 * process.
 */
const MAX_CHECKS = 4
const CHECK_INTERVAL_MS = 25
/**
 * A connection gets further statements until their expected time exceeds this, in ms. A second busy connection competes for the same processors and
 * makes the slowest statements much slower.
 */
const MAX_BACKLOG_MS = 20

/** How long no connection is opened after the server or the system rejected one, in ms. */
const REOPEN_AFTER_MS = 1_000

/** How long the server may take to close a connection, in ms. A frozen server never does. */
const END_TIMEOUT_MS = 500
/** How long the statements of a connection that is given up may take, in ms: longer than the server lets any statement run. */
const MAX_DRAIN_MS = 6_000

/**
 * Pipelining several statements costs both sides far fewer system calls. But a statement waits for those before it, so only indexed reads belong
 * here. If one is slow after all, those behind it are rejected and sent elsewhere.
 */
export function openPipelined({
  client: config,
  maxConnections,
  prepare,
  sending: common,
}: PipelinedOptions): PipelinedConnections {
  const sending = { ...common, gather: true }
  const { patience = Number.POSITIVE_INFINITY } = common
  const connections = new Set<Pipelined>()
  const draining = new Set<Pipelined>()
  const all = (): Pipelined[] => [...connections, ...draining]
  const admission = createAdmission(maxConnections)
  let interval: NodeJS.Timeout | undefined
  let mayOpenFrom = 0

  /** New connections may be rejected while those of the pool work. A timeout has no code, and would cost the same time again. */
  const onRejected = (error: unknown): never => {
    if (codeOf(error) === '') throw error
    mayOpenFrom = performance.now() + REOPEN_AFTER_MS
    throw new PipelineUnavailable('no pipelined connection can be opened', false)
  }

  const open = (): Pipelined => {
    const client = new RowClient({ ...config, pipeline: true })
    const ready = client
      .connect()
      .then(() => prepare(client))
      .catch(onRejected)
    const state = { isReady: false, statements: 0, backlog: 0, answered: 0, isBlocked: false }
    const connection: Pipelined = { client, ready, pending: createLinkedList(), ...state }
    connections.add(connection)
    // Without a listener a dropped connection would end the process.
    client.on('error', () => discard(connection))
    // Rejects the statements that wait for the connection, if there are any.
    ready.then(
      () => (connection.isReady = true),
      () => discard(connection),
    )
    return connection
  }

  const discard = (connection: Pipelined): void => {
    connections.delete(connection)
    void end(connection.client)
  }

  const mayOpen = (): boolean => connections.size < maxConnections && performance.now() >= mayOpenFrom

  /** Returns the first connection with room, otherwise a new one, otherwise the least busy one. */
  const choose = (): Pipelined | undefined => {
    const found = firstWithRoom(connections)
    return hasBacklog(found) && mayOpen() ? open() : found
  }

  const hasRoom = (): boolean => mayOpen() || !hasBacklog(firstWithRoom(connections))

  const check = (): void => {
    let isBusy = false
    for (const connection of all()) {
      const [first, ...behind] = valuesOf(connection.pending)
      if (!first) continue
      isBusy = true
      // A process that was suspended runs its timers before it reads the answers that have arrived.
      if (performance.now() - first.sent >= patience) setImmediate(cutIfSilent, connection, first)
      first.checks += 1
      if (first.checks < MAX_CHECKS) continue
      connection.isBlocked = true
      for (const pending of behind) pending.giveUp()
    }
    if (isBusy) return
    clearInterval(interval)
    interval = undefined
  }

  const yieldOne = async (): Promise<boolean> => {
    const least = leastUsed(connections)
    if (!least) return false
    mayOpenFrom = performance.now() + REOPEN_AFTER_MS
    connections.delete(least)
    await Promise.race([drain(least, draining), delay(END_TIMEOUT_MS, undefined, { ref: false })])
    return true
  }

  const send = (connection: Pipelined, statement: Statement): Promise<TimedResult> => {
    interval ??= setInterval(check, CHECK_INTERVAL_MS).unref()
    return new Promise((resolve, reject) => {
      const sent = performance.now()
      const query = new CellQuery(statement, sending, (error, answer) => {
        place = remove(place)
        connection.isBlocked &&= connection.pending.length > 0
        const since = Math.max(sent, connection.answered)
        connection.answered = performance.now()
        if (error) reject(error)
        else resolve(timed(answer, connection.answered - since))
      })
      const giveUp = () => reject(new PipelineUnavailable('an earlier statement on the connection is slow', true))
      let place: ListNode<Pending> | undefined = append(connection.pending, { query, sent, giveUp, checks: 0 })
      connection.client.query(query)
    })
  }

  return {
    async query(statement, cost) {
      const connection = choose()
      if (!connection) throw new PipelineUnavailable('no pipelined connection is free', false)
      if (statement.follows) admission.acquireUnchecked()
      else admission.acquire()
      connection.statements += 1
      connection.backlog += cost
      try {
        if (!connection.isReady) await connection.ready
        return await send(connection, statement)
      } catch (error) {
        if (!(error instanceof PipelineUnavailable) && isBroken(error)) discard(connection)
        throw error
      } finally {
        connection.statements -= 1
        // Rounding errors would keep the sum above zero.
        connection.backlog = connection.statements === 0 ? 0 : connection.backlog - cost
        admission.release()
      }
    },
    hasRoom,
    yieldOne,
    hasAnsweredSince: (time) => all().some(({ answered }) => answered > time),
    usage: () => ({
      pipelinedConnections: connections.size + draining.size,
      rejected: admission.rejected(),
      pipelinedStatements: all().reduce((sum, { statements }) => sum + statements, 0),
    }),
    close: async () => {
      clearInterval(interval)
      await Promise.all(all().map(({ client }) => end(client)))
    },
  }
}

/** The first connection with room, otherwise the least busy one that is not blocked. */
function firstWithRoom(connections: Iterable<Pipelined>): Pipelined | undefined {
  let least: Pipelined | undefined
  for (const connection of connections) {
    if (connection.isBlocked) continue
    if (!hasBacklog(connection)) return connection
    if (!least || connection.backlog < least.backlog) least = connection
  }
  return least
}

/** Whether a further statement would have to wait noticeably, for others or for a connection. */
function hasBacklog(connection: Pipelined | undefined): boolean {
  return connection === undefined || connection.backlog >= MAX_BACKLOG_MS
}

function leastUsed(connections: Iterable<Pipelined>): Pipelined | undefined {
  const open = [...connections].filter(({ isReady }) => isReady)
  const rank = ({ isBlocked, statements }: Pipelined) => (isBlocked ? Number.MAX_SAFE_INTEGER : statements)
  return open.toSorted((one, other) => rank(one) - rank(other))[0]
}

/** Closes a connection once its statements are done; until then it is one of `draining`. */
async function drain(connection: Pipelined, draining: Set<Pipelined>): Promise<void> {
  draining.add(connection)
  await end(connection.client, MAX_DRAIN_MS)
  draining.delete(connection)
}

async function end(client: pg.Client, timeout = END_TIMEOUT_MS): Promise<void> {
  const timer = setTimeout(() => cutStream(client), timeout).unref()
  await client.end().catch(() => undefined)
  clearTimeout(timer)
}

function cutIfSilent({ client, pending }: Pipelined, first: Pending): void {
  if (pending.first?.value !== first) return
  first.query.callback(new Error(SILENCE), first.query.answer)
  cutStream(client)
}
