import type { Knex } from 'knex'
import type { Connection, Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import type { FileStatement } from '../files/statements.js'

/** A transaction of knex, and the same transaction for SQL that knex must not touch. */
export interface Session extends Connection {
  readonly trx: Knex.Transaction
}

interface RawClient {
  query(config: { text: string; values: readonly (string | null)[]; rowMode: 'array' }): Promise<{
    readonly rows: readonly (readonly (string | null)[])[]
    readonly fields: readonly { readonly name: string }[]
    readonly rowCount: number | null
  }>
}

/** Commits what `work` did, or rolls it back and throws what it threw: the driver's own error, where that failed. */
export async function inTransaction<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  const failures: unknown[] = []
  const noted = async (trx: Knex.Transaction): Promise<T> => {
    try {
      return await work(await openSession(trx))
    } catch (error) {
      failures.push(error)
      throw error
    }
  }
  try {
    return await database.knex.transaction(noted, { isolationLevel: 'read committed' })
  } catch (error) {
    // A connection that broke cannot be rolled back either, and knex would throw that.
    throw failures.length > 0 ? failures[0] : error
  }
}

/** Rolls everything back, whatever `work` did. */
export async function inDiscardedTransaction<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const trx = await database.knex.transaction()
  try {
    return await work(await openSession(trx))
  } finally {
    await trx.rollback()
  }
}

/** Does `work` within a transaction, and undoes it, whether it succeeded or failed. */
export async function rolledBack<T>(session: Connection, work: () => Promise<T>): Promise<T> {
  await session.query({ text: 'savepoint undone', values: [] })
  try {
    return await work()
  } finally {
    await session.query({ text: 'rollback to savepoint undone', values: [] })
    await session.query({ text: 'release savepoint undone', values: [] })
  }
}

/** Does `work` within a transaction. What the server refuses is undone, and answered. */
export async function attempt(session: Connection, work: () => Promise<unknown>): Promise<ServerError | undefined> {
  await session.query({ text: 'savepoint attempted', values: [] })
  try {
    await work()
    await session.query({ text: 'release savepoint attempted', values: [] })
    return undefined
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    await session.query({ text: 'rollback to savepoint attempted', values: [] })
    return error as ServerError
  }
}

/** Lends one connection, outside of any transaction. */
export async function onOwnConnection<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  const { client: lender } = database.knex
  const client: RawClient = await lender.acquireConnection()
  try {
    return await work(connectionOf(client))
  } finally {
    await lender.releaseConnection(client)
  }
}

/** Knex would take each question mark in a file for a binding, and lose a backslash before it; so files go past it. */
async function openSession(trx: Knex.Transaction): Promise<Session> {
  // Knex declares its client as any; within a transaction this is the one connection of it.
  const client: RawClient = await trx.client.acquireConnection()
  return { trx, ...connectionOf(client) }
}

function connectionOf(client: RawClient): Connection {
  return {
    async query({ text, values }) {
      const { rows, fields, rowCount } = await client.query({ text, values, rowMode: 'array' })
      return { rows, columns: fields, count: rowCount ?? 0 }
    },
  }
}

/**
 * Runs the statements of one part of a file.
 * @throws MigrationError that names the file, the line and what PostgreSQL says; the driver's error is its cause.
 */
export async function runStatements(
  session: Connection,
  file: string,
  statements: readonly FileStatement[],
): Promise<void> {
  for (const { text, line } of statements) {
    try {
      await session.query({ text, values: [] })
    } catch (error) {
      if (sqlState(error) === undefined) throw error
      const { position } = error as ServerError
      const at = line + [...text].slice(0, Number(position ?? 1) - 1).filter((character) => character === '\n').length
      throw failedAt(`${file}:${at}`, error as ServerError)
    }
  }
}

/** What the server says of a statement that failed; only `message` where a MigrationError says it again. */
interface ServerError extends Error {
  readonly position?: string
  readonly constraint?: string
  readonly detail?: string
  readonly hint?: string
}

/** A statement at a place of a file failed: all that the server says of it. */
export function failedAt(place: string, error: ServerError): MigrationError {
  const { message, detail, hint } = error
  return new MigrationError([`${place}: ${[message, detail, hint].filter(Boolean).join('. ')}`], [], error)
}

/** The SQLSTATE of an error or of its cause, when the server itself sent it. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof MigrationError) return sqlState(error.cause)
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined
  return String(error.code)
}
