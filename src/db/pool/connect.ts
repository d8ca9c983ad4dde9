import type pg from 'pg'
import { codeOf } from '../driver/meanings.js'
import type { PipelinedConnections } from './pipelined-connections.js'

/** Calls back with a connection of the pool, or with one that another statement has passed on (`isGiven`). */
export type Connect = (
  callback: (error: Error | undefined, client: pg.PoolClient | undefined, isGiven?: boolean) => void,
) => void

export interface Connector {
  readonly connect: Connect
  /** Passes a free connection to the first of those that wait for one; false if none does. */
  give(client: pg.PoolClient): boolean
}

const TOO_MANY_CONNECTIONS = '53300'

/** How long a statement waits for a connection that becomes free, in ms: less than a readiness probe waits for an answer. */
const PATIENCE_MS = 600

/** The first and the longest pause before another attempt, in ms: a session of the server ends a moment after its connection. */
const PAUSES_MS = { first: 10, longest: 100 }

/** The place of a statement in the line; `wake` is set while it waits. */
interface Waiter {
  wake: ((given?: pg.PoolClient) => void) | undefined
}

/** Connects, also if the server has no more connections than those that this process has already: idle and pipelined ones become free. */
export function createConnector(pool: pg.Pool, pipelined: PipelinedConnections | undefined): Connector {
  const line = new Set<Waiter>()
  let yielding: Promise<boolean> | undefined

  /** Waits for a connection that is passed on, for one that becomes idle, or for this long. */
  const waitFor = (waiter: Waiter, milliseconds: number): Promise<pg.PoolClient | undefined> =>
    new Promise((resolve) => {
      waiter.wake = (given) => {
        clearTimeout(timer)
        waiter.wake = undefined
        resolve(given)
      }
      const timer = setTimeout(waiter.wake, milliseconds)
    })
  const wakeFirst = (given?: pg.PoolClient): boolean => {
    for (const { wake } of line) {
      if (!wake) continue
      wake(given)
      return true
    }
    return false
  }
  const yieldOne = (): Promise<boolean> =>
    (yielding ??= (pipelined?.yieldOne() ?? Promise.resolve(false)).finally(() => {
      yielding = undefined
    }))

  /** @param error why no connection could be opened; undefined for a statement that only waits behind others */
  const waitInLine = async (error?: Error): Promise<{ readonly client: pg.PoolClient; readonly isGiven: boolean }> => {
    const waiter: Waiter = { wake: undefined }
    const until = performance.now() + PATIENCE_MS
    line.add(waiter)
    try {
      const isYielded = await yieldOne()
      if (error && !isYielded && pool.totalCount === 0) throw error
      for (let pause = PAUSES_MS.first; ; pause = Math.min(2 * pause, PAUSES_MS.longest)) {
        const given = await waitFor(waiter, pause)
        if (given) return { client: given, isGiven: true }
        try {
          return { client: await pool.connect(), isGiven: false }
        } catch (error) {
          if (!isTooMany(error) || performance.now() >= until) throw error
        }
      }
    } finally {
      line.delete(waiter)
    }
  }

  // The pool has the connection from the next tick on, unless it was closed.
  pool.on('release', () => {
    if (line.size > 0) process.nextTick(() => pool.idleCount > 0 && wakeFirst())
  })
  return {
    connect: (callback) => {
      const wait = (error?: Error) =>
        void waitInLine(error).then(
          ({ client, isGiven }) => callback(undefined, client, isGiven),
          (error: unknown) => callback(error as Error, undefined),
        )
      if (line.size > 0) return wait()
      pool.connect((error, client) => (isTooMany(error) ? wait(error) : callback(error, client)))
    },
    give: wakeFirst,
  }
}

function isTooMany(error: unknown): error is Error {
  return codeOf(error) === TOO_MANY_CONNECTIONS
}
