import { type Database, Problem, wrapDatabase } from '../../src/internal.js'

/** A database that rejects every statement until `open` is called. */
export interface DatabaseGate {
  readonly database: Database
  open(): void
}

/**
 * Keeps requests from a database whose schema has not been checked yet, because it was unavailable when the server started. Until `open`,
 * requests get the problem `unavailable`, as if the database were still unavailable.
 */
export function gateDatabase(database: Database): DatabaseGate {
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
