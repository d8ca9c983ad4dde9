import type pg from 'pg'
import { createAdmission } from './admission.js'
import { type Answer, CellQuery, type Sending } from '../driver/cell-query.js'
import type { Statement } from '../database.js'
import { cutStream } from '../driver/cancel.js'
import { isBroken } from '../driver/errors.js'
import { SILENCE } from '../driver/outcome.js'
import { RowClient } from '../driver/row-messages.js'

/** Connections on which quick reads follow each other without waiting for answers. */
export interface PipelinedConnections {
  /**
   * @param cost the milliseconds that the statement is expected to take its connection
   * @throws HeadOfLineBlocked when the statement waits behind one that is not quick, and the driver's error; the statement only reads, so
   * that it may be sent once more; Problem `unavailable` when too many are under way
   */
  query(statement: Statement, cost: number): Promise<TimedAnswer>
  /** Whether a connection could take another statement without much of a wait. */
  hasRoom(): boolean
  /** Whether an answer came since a moment of the process's clock. */
  hasAnsweredSince(time: number): boolean
  /** How many there are, the statements under way, and the number of rejected statements. */
  usage(): { readonly lanes: number; readonly laneStatements: number; readonly refused: number }
  close(): Promise<void>
}

export interface TimedAnswer extends Answer {
  /** Milliseconds that others had to wait for this statement. */
  readonly time: number
}

export interface PipelinedOptions {
  readonly client: pg.ClientConfig
  /** The maximum number of connections; another one is opened only when the others have much to do. */
  readonly most: number
  /** Prepares a new connection. */
  readonly prepare: (client: pg.ClientBase) => Promise<void>
  readonly sending: Sending
}

/** Another statement blocks the connection. */
export class HeadOfLineBlocked extends Error {
  override name = 'HeadOfLineBlocked'
  /** Whether the statement was sent on a connection. */
  readonly waited: boolean

  constructor(message: string, waited: boolean) {
    super(message)
    this.waited = waited
  }
}

/** A statement without its answer. */
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
  readonly pending: Set<Pending>
  /** Statements under way, including those that wait until the connection is ready, and the milliseconds that they are expected to take. */
  statements: number
  backlog: number
  /** When the last answer came. */
  answered: number
  /** Its first statement is not quick; no statement is sent behind it. */
  isBlocked: boolean
}

/**
 * A statement may stay at the head of its connection for this many checks, with this interval in ms. By the clock alone, a busy process would be
 * to blame.
 */
const MAX_CHECKS = 4
const CHECK_INTERVAL_MS = 25
/**
 * A connection gets further statements until they are expected to take it this long, in ms. Several connections that are busy at the same time
 * take turns on few processors, for many milliseconds each, so that a second one makes the slowest statements slower by far.
 */
const MAX_BACKLOG_MS = 20

/**
 * Several statements under way at once cost both sides far fewer system calls than one at a time. The price is that a
 * statement waits for those before it, so only reads that an index answers belong here; should one take long after all, those behind
 * it are given back.
 */
export function openPipelined({
  client: config,
  most,
  prepare,
  sending: common,
}: PipelinedOptions): PipelinedConnections {
  const sending = { ...common, gather: true }
  const { patience = Number.POSITIVE_INFINITY } = common
  const connections = new Set<Pipelined>()
  const admission = createAdmission(most)
  let interval: NodeJS.Timeout | undefined

  function open(): Pipelined {
    const client = new RowClient({ ...config, pipeline: true })
    const ready = client.connect().then(() => prepare(client))
    const state = { isReady: false, statements: 0, backlog: 0, answered: 0, isBlocked: false }
    const connection: Pipelined = { client, ready, pending: new Set(), ...state }
    connections.add(connection)
    // Without a listener a dropped connection would end the process.
    client.on('error', () => discard(connection))
    client.on('end', () => connections.delete(connection))
    // Statements that wait for the connection are rejected; there may be none any more.
    ready.then(
      () => (connection.isReady = true),
      () => discard(connection),
    )
    return connection
  }

  function discard(connection: Pipelined): void {
    connections.delete(connection)
    connection.client.end().catch(() => undefined)
  }

  /** The first that has room, else a new one, else the one with the least to do. */
  function choose(): Pipelined | undefined {
    let least: Pipelined | undefined
    for (const connection of connections) {
      if (connection.isBlocked) continue
      if (connection.backlog < MAX_BACKLOG_MS) return connection
      if (!least || connection.backlog < least.backlog) least = connection
    }
    return connections.size < most ? open() : least
  }

  function hasRoom(): boolean {
    if (connections.size < most) return true
    for (const { isBlocked, backlog } of connections) if (!isBlocked && backlog < MAX_BACKLOG_MS) return true
    return false
  }

  function check(): void {
    let isBusy = false
    for (const connection of connections) {
      const [first, ...behind] = connection.pending
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

  function cutIfSilent({ client, pending }: Pipelined, first: Pending): void {
    if (!pending.has(first)) return
    first.query.callback(new Error(SILENCE), first.query.answer)
    cutStream(client)
  }

  function send(connection: Pipelined, statement: Statement): Promise<TimedAnswer> {
    interval ??= setInterval(check, CHECK_INTERVAL_MS).unref()
    return new Promise((resolve, reject) => {
      const sent = performance.now()
      const query = new CellQuery(statement, sending, (error, answer) => {
        connection.pending.delete(pending)
        connection.isBlocked &&= connection.pending.size > 0
        const since = Math.max(sent, connection.answered)
        connection.answered = performance.now()
        if (error) reject(error)
        else resolve({ ...answer, time: connection.answered - since })
      })
      const giveUp = () => reject(new HeadOfLineBlocked('a statement before it takes long', true))
      const pending: Pending = { query, sent, giveUp, checks: 0 }
      connection.pending.add(pending)
      connection.client.query(query)
    })
  }

  return {
    async query(statement, cost) {
      const connection = choose()
      if (!connection) throw new HeadOfLineBlocked('every pipelined connection is blocked', false)
      if (statement.follows) admission.push()
      else admission.enter()
      connection.statements += 1
      connection.backlog += cost
      try {
        if (!connection.isReady) await connection.ready
        return await send(connection, statement)
      } catch (error) {
        if (!(error instanceof HeadOfLineBlocked) && isBroken(error)) discard(connection)
        throw error
      } finally {
        connection.statements -= 1
        // Sums of fractions do not end at zero by themselves.
        connection.backlog = connection.statements === 0 ? 0 : connection.backlog - cost
        admission.leave()
      }
    },
    hasRoom,
    hasAnsweredSince: (time) => [...connections].some(({ answered }) => answered > time),
    usage: () => ({
      lanes: connections.size,
      refused: admission.refused(),
      laneStatements: [...connections].reduce((sum, { statements }) => sum + statements, 0),
    }),
    close: async () => {
      clearInterval(interval)
      await Promise.all([...connections].map(({ client }) => client.end().catch(() => undefined)))
    },
  }
}
