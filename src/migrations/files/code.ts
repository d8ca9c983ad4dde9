import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../../db/database.js'
import { MigrationError } from './error.js'
import { type Migration, TRANSACTION } from './files.js'
import { splitStatements } from './statements.js'
import { failedAt, runStatements, sqlState } from '../run/session.js'

const EXAMPLE = 'export async function up(connection) { await connection.query({ text: …, values: [] }) }'

/**
 * Runs one part of a migration: the statements of a file of SQL, or the function of a file of TypeScript.
 * @throws MigrationError with the file and the line
 */
export async function runPart(session: Connection, migration: Migration, part: 'up' | 'down'): Promise<void> {
  const { file, load } = migration
  if (!load) return runStatements(session, file, migration[part] ?? [])
  const run = functionOf(await load(), file, part)
  const lent: Lent = { open: true, sent: new Set(), failure: undefined }
  try {
    await runToEnd(run, lend(session, file, lent), lent)
    const { failure } = lent
    if (failure)
      throw failure instanceof MigrationError ? new MigrationError(failure.errors, [UNCAUGHT], failure) : failure
  } catch (error) {
    if (error instanceof MigrationError) throw error
    const { message, stack = '' } = error instanceof Error ? error : { message: String(error) }
    throw new MigrationError([`${placeIn(stack, file)}: ${message}`], [], error)
  } finally {
    lent.open = false
  }
}

interface Lent {
  open: boolean
  /** The ends of the statements that are under way. The function may not await them. */
  readonly sent: Set<Promise<void>>
  /** The error of the first statement that failed. PostgreSQL rejects all later statements of the transaction. */
  failure: Error | undefined
}

/** Runs a migration until its last statement has ended. */
async function runToEnd(run: MigrationFunction, connection: Connection, { sent }: Lent): Promise<void> {
  try {
    await run(connection)
  } finally {
    // Statements that are under way can send more.
    for (const end of sent) await end
  }
}

const UNCAUGHT =
  'Await each statement, and do not catch its error: PostgreSQL has aborted the transaction, and rejects every later statement'

type MigrationFunction = (connection: Connection) => unknown

function functionOf(module: unknown, file: string, part: 'up' | 'down'): MigrationFunction {
  const found: unknown = Object.entries(module ?? {}).find(([name]) => name === part)?.[1]
  if (typeof found === 'function') return found as MigrationFunction
  if (part === 'up') throw new MigrationError([`${file} exports no function \`up\``], [EXAMPLE])
  throw new MigrationError(
    [`${file} exports no function \`down\`, so it cannot be reverted`],
    ['Write a new migration that reverts it, and apply that'],
  )
}

/** The connection of the transaction, for as long as the migration runs. */
function lend(session: Connection, file: string, lent: Lent): Connection {
  const query = querying(session, file, lent)
  return {
    query(statement) {
      const result = query(statement)
      if (!lent.open) return result
      const fail = (error: Error) => void (lent.failure ??= error)
      const end = result.then(() => undefined, fail).then(() => void lent.sent.delete(end))
      lent.sent.add(end)
      return result
    },
  }
}

function querying(session: Connection, file: string, lent: Lent): Connection['query'] {
  return async (statement) => {
    // The server's error does not contain the place of the call.
    const place = placeIn(new Error().stack ?? '', file)
    const reject = (reason: string) => new MigrationError([`${place}: ${reason}`])
    if (!lent.open) throw reject('a statement was sent after the end of its migration')
    const { text, values = [] } = statement
    const parts = splitStatements(text)
    const ends = parts.find((part) => TRANSACTION.test(part.text))
    if (ends) throw reject(`\`${ends.text}\` is not allowed here: the migrator begins and ends transactions`)
    try {
      // PostgreSQL rejects values for several statements.
      const last = values.length > 0 ? undefined : parts.at(-1)
      if (!last) return await session.query({ ...statement, textOnly: true })
      for (const part of parts.slice(0, -1)) await session.query({ text: part.text, values })
      return await session.query({ text: last.text, values, textOnly: true })
    } catch (error) {
      if (sqlState(error) === undefined) throw error
      lent.failure ??= failedAt(place, error as Error)
      throw lent.failure
    }
  }
}

/** Finds the innermost line of the file in a stack, such as `0002_more.ts:3:9`; returns just the file if there is none. */
function placeIn(stack: string, file: string): string {
  for (const [, path = '', line, column] of stack.matchAll(/((?:file:\/\/)?\/[^()\n]*):(\d+):(\d+)\)?$/gm)) {
    if ((path.startsWith('file:') ? fileURLToPath(path) : path) === resolve(file)) return `${file}:${line}:${column}`
  }
  return file
}
