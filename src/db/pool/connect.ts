import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { codeOf } from '../driver/meanings.js'
import type { PipelinedConnections } from './pipelined-connections.js'

/** Calls back with a connection of the pool. */
export type Connect = (callback: (error: Error | undefined, client: pg.PoolClient | undefined) => void) => void

const TOO_MANY_CONNECTIONS = '53300'

/** How long to wait before each further attempt, in ms: a session of the server ends a moment after its connection. */
const RETRIES_MS = [10, 20, 40, 80, 160, 160, 160, 160, 160]

/** Connects, also if the server has no more connections than those that this process has already: idle and pipelined ones become free. */
export function createConnect(pool: pg.Pool, pipelined: PipelinedConnections | undefined): Connect {
  const retry = async (error: Error): Promise<pg.PoolClient> => {
    let failure: unknown = error
    for (const wait of RETRIES_MS) {
      const isYielded = (await pipelined?.yieldOne()) ?? false
      if (!isYielded && pool.totalCount === 0) break
      await delay(wait)
      try {
        return await pool.connect()
      } catch (error) {
        if (!isTooMany(error)) throw error
        failure = error
      }
    }
    throw failure
  }

  return (callback) =>
    pool.connect((error, client) => {
      if (!isTooMany(error)) return callback(error, client)
      retry(error).then(
        (client) => callback(undefined, client),
        (error: unknown) => callback(error as Error, undefined),
      )
    })
}

function isTooMany(error: unknown): error is Error {
  return codeOf(error) === TOO_MANY_CONNECTIONS
}
