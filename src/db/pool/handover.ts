import type pg from 'pg'
import type { Connector } from './connect.js'

type Take = (error: Error | undefined, client: pg.PoolClient | undefined) => void

/** Passes a connection directly to the next waiting statement. Through the pool, that would cost two timers and a turn of the event loop. */
export interface Handover {
  /** Calls back with the connection that is being passed on, if any, otherwise with one from the pool. */
  take(callback: Take): void
  /** Offers a connection to the first `take` during `proceed`. If there is none, the connection returns to the pool. */
  offer(client: pg.PoolClient, proceed: () => void): void
}

/** The longest time, in ms, without returning a connection to the pool, which closes connections that are too old. */
const MAX_HOLD_MS = 1_000

export function createHandover(pool: pg.Pool, { connect, give }: Connector): Handover {
  const heldSince = new WeakMap<pg.PoolClient, number>()
  let offered: pg.PoolClient | undefined

  const mayPassOn = (client: pg.PoolClient): boolean =>
    // Other users of the pool, such as knex, wait in the pool itself.
    pool.waitingCount === 0 && !pool.ending && performance.now() - (heldSince.get(client) ?? 0) < MAX_HOLD_MS

  return {
    take(callback) {
      const client = offered
      offered = undefined
      if (client) return callback(undefined, client)
      connect((error, client, isGiven) => {
        if (client && !isGiven) heldSince.set(client, performance.now())
        callback(error, client)
      })
    },
    offer(client, proceed) {
      if (!mayPassOn(client)) {
        client.release()
        return proceed()
      }
      // Listeners learn from a release that the database responds, so it is emitted either way.
      if (give(client)) {
        pool.emit('release', undefined, client)
        return proceed()
      }
      offered = client
      proceed()
      if (offered === undefined) pool.emit('release', undefined, client)
      else client.release()
      offered = undefined
    },
  }
}
