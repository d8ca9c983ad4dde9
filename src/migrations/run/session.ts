import type { Connection, Database, Knex } from '../../db/database.js'
import { textTypes } from '../../db/driver/parsers.js'
import { literal } from '../../fields/sql-literal.js'
import { MigrationError } from '../files/error.js'
import type { FileStatement } from '../files/statements.js'
import { block } from '../plan/steps/conversions.js'

/** A transaction of knex, and its connection for SQL that knex must not process. */
export interface Session extends Connection {
  readonly trx: Knex.Transaction
}

interface RawClient {
  query(config: {
    readonly text: string
    readonly values: readonly (string | null)[]
    readonly rowMode: 'array'
    readonly name: string | undefined
    readonly types?: typeof textTypes
  }): Promise<{
    readonly rows: readonly (readonly (string | null)[])[]
    readonly fields: readonly { readonly name: string }[]
    readonly rowCount: number | null
  }>
}

/** Commits `work`, or rolls it back and throws its error. */
export async function inTransaction<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  const failures: unknown[] = []
  const noted = async (trx: Knex.Transaction): Promise<T> => {
    try {
      return await work(await openSession(database, trx))
    } catch (error) {
      failures.push(error)
      throw error
    }
  }
  try {
    return await database.knex.transaction(noted, { isolationLevel: 'read committed' })
  } catch (error) {
    // Rolling back on a broken connection fails too; the error of `work` matters more.
    throw failures.length > 0 ? failures[0] : error
  }
}

/**
 * Restores the search path of the server's own settings, in which temporary tables come first by default, as for other programs that run the SQL of
 * migrations. Connections for requests look for temporary tables last.
 */
export function useOwnSearchPath(session: Connection, scope: 'local' | 'session' = 'local'): Promise<unknown> {
  return session.query({ text: `set ${scope} search_path to default`, values: [] })
}

/** Runs `work` in a transaction and rolls it back. */
export async function inDiscardedTransaction<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const trx = await database.knex.transaction()
  try {
    const session = await openSession(database, trx)
    await useOwnSearchPath(session)
    return await work(session)
  } finally {
    await trx.rollback()
  }
}

/** Runs `work` inside a savepoint and rolls back to it. */
export async function rolledBack<T>(session: Connection, work: () => Promise<T>): Promise<T> {
  await session.query({ text: 'savepoint undone', values: [] })
  try {
    return await work()
  } finally {
    await session.query({ text: 'rollback to savepoint undone', values: [] })
    await session.query({ text: 'release savepoint undone', values: [] })
  }
}

/** Runs `work` inside a savepoint. If the server rejects a statement, rolls back to the savepoint and returns the error. */
export async function attempt(session: Connection, work: () => Promise<unknown>): Promise<ServerError | undefined> {
  await session.query({ text: 'savepoint attempted', values: [] })
  try {
    await work()
    await session.query({ text: 'release savepoint attempted', values: [] })
    return undefined
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    await session.query({ text: 'rollback to savepoint attempted', values: [] })
    // Otherwise an attempt around this one would only roll back to here.
    await session.query({ text: 'release savepoint attempted', values: [] })
    return error as ServerError
  }
}

/** Lends one connection outside a transaction. */
export async function onOwnConnection<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  const { client: lender } = database.knex
  const client: RawClient = await lender.acquireConnection()
  try {
    return await work(connectionOf(database, client))
  } finally {
    await lender.releaseConnection(client)
  }
}

/** Bypasses knex, which would treat question marks in a file as bindings. */
async function openSession(database: Database, trx: Knex.Transaction): Promise<Session> {
  // Knex types its client as any; inside a transaction it is the connection.
  const client: RawClient = await trx.client.acquireConnection()
  return { trx, ...connectionOf(database, client) }
}

/** The names of the statements that the driver has prepared on each connection. */
const prepared = new WeakMap<RawClient, Set<string>>()

/** Whether a statement can be sent by its name: the driver does not notice that a file has deallocated it, perhaps in a function. */
async function canName(client: RawClient, name: string): Promise<boolean> {
  const names = prepared.get(client) ?? new Set()
  if (!names.has(name)) {
    prepared.set(client, names.add(name))
    return true
  }
  const text = 'select from pg_prepared_statements where name = $1'
  return (await client.query({ text, values: [name], rowMode: 'array', name: undefined })).rowCount === 1
}

/** A pooler may stand before a server, and does not keep prepared statements. */
function connectionOf({ concurrent }: Database, client: RawClient): Connection {
  return {
    async query({ text, values, name, textOnly }) {
      const isNamed = !concurrent && name !== undefined && (await canName(client, name))
      const sent = isNamed ? name : undefined
      const types = textOnly ? { types: textTypes } : {}
      const { rows, fields, rowCount } = await client.query({ text, values, rowMode: 'array', name: sent, ...types })
      return { rows, columns: fields, count: rowCount ?? 0 }
    },
  }
}

/**
 * Runs the statements of one part of a file.
 * @throws MigrationError with the file, the line and the message of PostgreSQL; the driver's error is its cause
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

/** Statements that do the same in a block as by themselves. */
const DEFINITION = /^(?:create\s+(?:table|(?:unique\s+)?index)|(?:alter|drop)\s+(?:table|index))\b/i
/** The SQLSTATE of a cancelled statement. */
const CANCELLED = '57014'
/** A few statements are quicker by themselves. */
const MIN_IN_BLOCK = 5
const MAX_IN_BLOCK = 100

/**
 * Runs statements in a scratch database; those that define tables run in blocks of many. After a statement that took more than 15 locks, PostgreSQL visits all
 * locks of the transaction, which was a third of the time of a plan for 1,000 tables. If a block fails, its statements run again one by one, for an error with its position.
 */
export async function runInBlocks<Statement extends { readonly text: string }>(
  session: Connection,
  statements: readonly Statement[],
  runSingly: (part: readonly Statement[]) => Promise<void>,
): Promise<void> {
  for (const part of blocksOf(statements)) {
    const text = block(['begin', ...part.map((statement) => `execute ${literal(statement.text)};`), 'end'])
    const isBlock = part.length >= MIN_IN_BLOCK
    const error = isBlock ? await attempt(session, () => session.query({ text, values: [] })) : undefined
    if (error && sqlState(error) === CANCELLED) throw error
    if (!isBlock || error) await runSingly(part)
  }
}

function blocksOf<Statement extends { readonly text: string }>(
  statements: readonly Statement[],
): readonly (readonly Statement[])[] {
  const blocks: Statement[][] = []
  let open: Statement[] | undefined
  for (const statement of statements) {
    const isDefinition = DEFINITION.test(statement.text)
    if (isDefinition && open !== undefined && open.length < MAX_IN_BLOCK) open.push(statement)
    else blocks.push([statement])
    open = isDefinition ? blocks.at(-1) : undefined
  }
  return blocks
}

/** The error of a failed statement as PostgreSQL reports it; only `message` if a MigrationError wraps it. */
export interface ServerError extends Error {
  readonly position?: string
  readonly constraint?: string
  readonly detail?: string
  readonly hint?: string
  /** The function in the source code of PostgreSQL that reports the error. */
  readonly routine?: string
}

/** Wraps the error of a statement with its place in the file. */
export function failedAt(place: string, error: ServerError): MigrationError {
  const { message, detail, hint } = error
  const help = sqlState(error) === UNCOMMITTED_CHOICE ? [OWN_FILE] : []
  return new MigrationError([`${place}: ${[message, detail, hint].filter(Boolean).join('. ')}`], help, error)
}

/** The error of PostgreSQL for a value of an enum that the same transaction has added. */
export const UNCOMMITTED_CHOICE = '55P04'

const OWN_FILE =
  'Write `alter type … add value` into a migration file of its own, before the file that uses the value: each file is committed before the next one'

/** The SQLSTATE of an error or its cause, if the server sent it. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof MigrationError) return sqlState(error.cause)
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined
  return String(error.code)
}
