import type pg from 'pg'

type Take = (error: Error | undefined, client: pg.PoolClient | undefined) => void

/** Passes a connection from one statement to the next that waits. The pool would set two timers and wait a turn of the event loop for that. */
export interface Handover {
  /** Calls back at once with a connection that is being passed on, otherwise with one from the pool. */
  take(callback: Take): void
  /** Offers a connection to whoever takes one during `proceed`. If nobody does, the pool gets it back. */
  offer(client: pg.PoolClient, proceed: () => void): void
}

/** A connection goes back to the pool at least this often, in ms: the pool closes connections that are too old. */
const MAX_HOLD_MS = 1_000

export function createHandover(pool: pg.Pool): Handover {
  const heldSince = new WeakMap<pg.PoolClient, number>()
  let offered: pg.PoolClient | undefined

  const mayPassOn = (client: pg.PoolClient): boolean =>
    // Others, such as knex, wait for a connection in the pool itself.
    pool.waitingCount === 0 && !pool.ending && performance.now() - (heldSince.get(client) ?? 0) < MAX_HOLD_MS

  return {
    take(callback) {
      const client = offered
      offered = undefined
      if (client) return callback(undefined, client)
      pool.connect((error, client) => {
        if (client) heldSince.set(client, performance.now())
        callback(error, client)
      })
    },
    offer(client, proceed) {
      if (!mayPassOn(client)) {
        client.release()
        return proceed()
      }
      offered = client
      proceed()
      // To listeners, the connection was released either way: they learn from it that the database answers.
      if (offered === undefined) pool.emit('release', undefined, client)
      else client.release()
      offered = undefined
    },
  }
}
