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

/** How long to wait before each further attempt, in ms: a session of the server ends a moment after its connection. A readiness probe waits for all. */
const RETRIES_MS = [10, 20, 40, 80, 150, 150, 150]

/** After how many attempts another pipelined connection is given up. */
const ATTEMPTS_PER_YIELD = 4

/** Connects, also if the server has no more connections than those that this process has already: idle and pipelined ones become free. */
export function createConnector(pool: pg.Pool, pipelined: PipelinedConnections | undefined): Connector {
  const waiting = new Set<(given?: pg.PoolClient) => void>()
  let yielding: Promise<boolean> | undefined

  /** Waits for a connection that is passed on, for one that becomes idle, or for this long. */
  const waitFor = (milliseconds: number): Promise<pg.PoolClient | undefined> =>
    new Promise((resolve) => {
      const wake = (given?: pg.PoolClient): void => {
        clearTimeout(timer)
        waiting.delete(wake)
        resolve(given)
      }
      const timer = setTimeout(wake, milliseconds)
      waiting.add(wake)
    })
  const wakeFirst = (given?: pg.PoolClient): boolean => {
    const [first] = waiting
    first?.(given)
    return first !== undefined
  }
  const yieldOne = (): Promise<boolean> =>
    (yielding ??= (pipelined?.yieldOne() ?? Promise.resolve(false)).finally(() => {
      yielding = undefined
    }))

  const retry = async (error: Error): Promise<{ readonly client: pg.PoolClient; readonly isGiven: boolean }> => {
    let failure: unknown = error
    let isYielded = false
    for (const [attempt, wait] of RETRIES_MS.entries()) {
      if (attempt % ATTEMPTS_PER_YIELD === 0) isYielded = await yieldOne()
      if (!isYielded && pool.totalCount === 0) break
      const given = await waitFor(wait)
      if (given) return { client: given, isGiven: true }
      try {
        return { client: await pool.connect(), isGiven: false }
      } catch (error) {
        if (!isTooMany(error)) throw error
        failure = error
      }
    }
    throw failure
  }

  // The pool has the connection from the next tick on.
  pool.on('release', () => {
    if (waiting.size > 0) process.nextTick(wakeFirst)
  })
  return {
    connect: (callback) =>
      pool.connect((error, client) => {
        if (!isTooMany(error)) return callback(error, client)
        retry(error).then(
          ({ client, isGiven }) => callback(undefined, client, isGiven),
          (error: unknown) => callback(error as Error, undefined),
        )
      }),
    give: wakeFirst,
  }
}

function isTooMany(error: unknown): error is Error {
  return codeOf(error) === TOO_MANY_CONNECTIONS
}
