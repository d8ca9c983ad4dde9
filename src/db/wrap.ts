import type { Connection, Database, Statement } from './database.js'

/** The members that `withParts` may replace. Calls that reach the database are wrapped only by `wrapDatabase`, which passes every argument on. */
type Parts = Partial<Omit<Database, 'query' | 'transaction' | 'probe'>>

/** Runs a call that reaches the database: now, later or not at all. */
export type Around = <Result>(call: () => Promise<Result>) => Promise<Result>

/** Returns the database with some members replaced. */
export function withParts(database: Database, parts: Parts): Database {
  // Copying the object would call its getters.
  return Object.create(database, Object.getOwnPropertyDescriptors(parts)) as Database
}

/** Returns the database with its statements and transactions run through `around`. */
export function wrapDatabase(database: Database, around: Around): Database {
  const { reads } = database
  const calls: Pick<Database, 'query' | 'transaction' | 'probe'> = {
    query: (...given) => around(() => database.query(...given)),
    transaction: (...given) => around(() => database.transaction(...given)),
    probe: (...given) => around(() => database.probe(...given)),
  }
  const wrapped = withParts(
    database,
    reads ? { reads: { query: (...given) => around(() => reads.query(...given)) } } : {},
  )
  return Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(calls))
}

/** Returns a connection that calls `before` with each statement. */
export function observed(connection: Connection, before: (statement: Statement) => void): Connection {
  const { attempt, savepoint, repeat } = connection
  const observing =
    (send: Connection['query']): Connection['query'] =>
    (statement) => {
      before(statement)
      return send(statement)
    }
  return {
    query: observing((statement) => connection.query(statement)),
    ...(attempt && { attempt: observing(attempt) }),
    ...(savepoint && { savepoint: (work) => savepoint((inner) => work(observed(inner, before))) }),
    ...(repeat && { repeat }),
  }
}
