import { type Database, Problem } from '../src/index.js'

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
  const state = { open: false }
  const { reads } = database
  const pass = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!state.open)
      throw new Problem('unavailable', 'The database is not available', { headers: { 'Retry-After': '1' } })
    return work()
  }
  return {
    open: () => {
      state.open = true
    },
    database: {
      description: database.description,
      whenPending: database.whenPending,
      concurrent: database.concurrent,
      get knex() {
        return database.knex
      },
      query: (statement) => pass(() => database.query(statement)),
      ...(reads && { reads: { query: (statement) => pass(() => reads.query(statement)) } }),
      transaction: (work) => pass(() => database.transaction(work)),
      usage: () => database.usage(),
      probe: () => pass(() => database.probe()),
      close: () => database.close(),
    },
  }
}
