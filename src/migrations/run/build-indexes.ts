import type { Connection, Database } from '../../db/database.js'
import { asOnlyMigratorOutside } from './lock.js'
import { runStatements, sqlState } from './session.js'
import type { ConcurrentIndex, FileStatement } from '../files/statements.js'

/**
 * Builds and drops the indexes of one part of a file outside a transaction. An invalid index of an interrupted run is dropped and rebuilt, and
 * a finished one is kept, so this can be repeated until it succeeds.
 * @throws MigrationError if a statement fails; then no invalid index is left
 */
export function buildIndexes(database: Database, file: string, part: readonly FileStatement[]): Promise<void> {
  return asOnlyMigratorOutside(database, async (connection) => {
    for (const statement of part) {
      const { concurrent: index } = statement
      if (index) await runOne(connection, { file, statement, index })
    }
  })
}

interface One {
  readonly file: string
  readonly statement: FileStatement
  readonly index: ConcurrentIndex
}

async function runOne(connection: Connection, { file, statement, index }: One): Promise<void> {
  const run = () => runStatements(connection, file, [{ text: index.sql, line: statement.line }])
  const found = await stateOf(connection, index.name)
  if (!index.makes) return found === undefined ? undefined : run()
  if (found === 'valid' && (await isTheSame(connection, statement.text, index.name))) return
  if (found === 'not valid') await drop(connection, index.name)
  try {
    await run()
  } catch (error) {
    // An invalid index still costs every write. If this fails, the next run drops it.
    if ((await stateOf(connection, index.name).catch(() => undefined)) === 'not valid')
      await drop(connection, index.name).catch(() => undefined)
    throw error
  }
}

async function stateOf(connection: Connection, name: string): Promise<'valid' | 'not valid' | undefined> {
  const text = 'select indisvalid::text from pg_index where indexrelid = to_regclass($1)'
  const { rows } = await connection.query({ text, values: [name] })
  const [[valid] = []] = rows
  return valid === undefined ? undefined : valid === 'true' ? 'valid' : 'not valid'
}

async function drop(connection: Connection, name: string): Promise<void> {
  await connection.query({ text: `drop index concurrently ${name}`, values: [] })
}

const DEFINITION = `
  select pg_get_indexdef(indexrelid, 0, true), indrelid::regclass::text, quote_ident(c.relname)
  from pg_index join pg_class c on c.oid = indrelid where indexrelid = to_regclass($1)`

/** Whether an index is the one that a statement creates: compares it with the result on an empty table of the same columns. */
async function isTheSame(connection: Connection, statement: string, name: string): Promise<boolean> {
  const define = async (index: string) => (await connection.query({ text: DEFINITION, values: [index] })).rows[0] ?? []
  const [definition, relation, table] = await define(name)
  await connection.query({ text: 'begin', values: [] })
  try {
    // Unqualified names resolve to temporary tables first.
    await connection.query({ text: `create temporary table ${table} (like ${relation})`, values: [] })
    await connection.query({ text: statement, values: [] })
    const [made] = await define(`pg_temp.${name}`)
    return made === definition
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return false
  } finally {
    await connection.query({ text: 'rollback', values: [] })
  }
}
