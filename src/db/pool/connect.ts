import type pg from 'pg'
import { codeOf } from '../driver/meanings.js'
import type { PipelinedConnections } from './pipelined-connections.js'

/** Receives a connection of the pool, or one that another statement has passed on (`isGiven`). */
type Take = (error: Error | undefined, client?: pg.PoolClient, isGiven?: boolean) => void

export type Connect = (take: Take) => void

/** A waiting statement; `end` ends its wait. */
interface Waiter {
  readonly arrival: number
  readonly end: Take
}

export interface Connector {
  readonly connect: Connect
  /** Passes a free connection to the first waiting statement; returns false if no statement waits. */
  give(client: pg.PoolClient): boolean
}

const TOO_MANY_CONNECTIONS = '53300'

/** How long a statement waits for a connection that becomes free, in ms: less than a readiness probe waits for an answer. */
const PATIENCE_MS = 600

/** The first and the longest pause before another attempt, in ms: a session of the server ends a moment after its connection. */
const PAUSES_MS = { first: 10, longest: 100 }

/**
 * Connects. While the server allows no further connection, statements wait in a line, and the first one gets the next connection: one that another
 * statement passes on, one that becomes idle, or a new one, once a pipelined connection or another process has closed its own. However many
 * statements wait, there is one attempt at a time to open a connection.
 */
export function createConnector(pool: pg.Pool, pipelined: PipelinedConnections | undefined): Connector {
  /** In the order of their arrivals. */
  const line: Waiter[] = []
  let arrivals = 0
  /** Why the server last rejected a connection. */
  let rejection: Error | undefined
  let pause = PAUSES_MS.first
  let timer: NodeJS.Timeout | undefined
  let isOpening = false
  /** How many idle connections are on their way from the pool. */
  let coming = 0
  let isYielding = false

  const join = (arrival: number, take: Take): void => {
    const end: Take = (...given) => {
      line.splice(line.indexOf(waiter), 1)
      clearTimeout(patience)
      take(...given)
    }
    const waiter = { arrival, end }
    // A process that was suspended runs its timers before it reads the answers that have arrived.
    const patience = setTimeout(() => setImmediate(reject, [waiter], rejection), PATIENCE_MS)
    const place = line.findLastIndex((other) => other.arrival < arrival) + 1
    line.splice(place, 0, waiter)
    if (line.length === 1) openAfter(PAUSES_MS.first)
    if (!isYielding) void yieldOne()
  }

  const give = (client: pg.PoolClient, isGiven = true): boolean => {
    const [first] = line
    first?.end(undefined, client, isGiven)
    return first !== undefined
  }

  const serve = (client: pg.PoolClient): void => {
    if (!give(client, false)) client.release()
  }

  const reject = (waiters: readonly Waiter[], error: Error | undefined): void => {
    for (const waiter of waiters) if (line.includes(waiter)) waiter.end(error)
  }

  const openAfter = (milliseconds: number): void => {
    clearTimeout(timer)
    pause = milliseconds
    timer = setTimeout(open, milliseconds)
  }

  const open = (): void => {
    if (isOpening || line.length === 0) return
    isOpening = true
    const waiting = [...line]
    pool.connect((error, client) => {
      isOpening = false
      if (client) serve(client)
      else if (isTooMany(error)) rejection = error
      else reject(waiting, error)
      if (line.length > 0) openAfter(client ? PAUSES_MS.first : Math.min(2 * pause, PAUSES_MS.longest))
    })
  }

  const yieldOne = async (): Promise<void> => {
    isYielding = true
    const isYielded = await pipelined?.yieldOne()
    isYielding = false
    // Statements that join the line must not put off an attempt that is due.
    if (isYielded && pause > PAUSES_MS.first) openAfter(PAUSES_MS.first)
  }

  const takeIdle = (): void => {
    for (let free = Math.min(pool.idleCount, line.length) - coming; free > 0; free -= 1) {
      coming += 1
      pool.connect((_error, client) => {
        coming -= 1
        if (client) serve(client)
      })
    }
  }

  // The pool has the connection from the next tick on, unless it was closed.
  pool.on('release', () => {
    if (line.length > 0) process.nextTick(takeIdle)
  })
  return {
    connect(take) {
      const arrival = arrivals++
      if (line.length > 0) return join(arrival, take)
      pool.connect((error, client) => {
        if (!isTooMany(error)) return take(error, client)
        rejection = error
        join(arrival, take)
      })
    },
    give,
  }
}

function isTooMany(error: unknown): error is Error {
  return codeOf(error) === TOO_MANY_CONNECTIONS
}
