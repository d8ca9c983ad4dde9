import type { Database } from './database.js'

/** What may be replaced one by one. Calls that reach the database are wrapped by `wrapDatabase` alone, which passes on every argument. */
type Parts = Partial<Omit<Database, 'query' | 'transaction' | 'probe'>>

/** Runs a call that reaches the database, now, later or not at all. */
export type Around = <Result>(call: () => Promise<Result>) => Promise<Result>

/** The same database with some parts replaced. */
export function withParts(database: Database, parts: Parts): Database {
  // A copy would call the getters of both.
  return Object.create(database, Object.getOwnPropertyDescriptors(parts)) as Database
}

/** The same database, whose statements and transactions are run by `around`. */
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
