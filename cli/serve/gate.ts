import { type Database, Problem, wrapDatabase } from '../../src/internal.js'

/** A database that refuses every statement until it is opened; and the key. */
export interface Gate {
  readonly database: Database
  open(): void
}

/**
 * Keeps requests from a database whose schema nobody has looked at yet, because it was away when the server started.
 * Until `open` they meet the problem `unavailable`, as with a database that is still away.
 */
export function gateDatabase(database: Database): Gate {
  let isOpen = false
  return {
    open: () => {
      isOpen = true
    },
    database: wrapDatabase(database, async (call) => {
      if (!isOpen)
        throw new Problem('unavailable', 'The database is not available', { headers: { 'Retry-After': '1' } })
      return call()
    }),
  }
}
