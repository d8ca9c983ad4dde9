import type { Connection, Database } from '../../db/database.js'
import { asOnlyMigratorOutside, withLockTimeout } from './lock.js'
import type { Watch } from './watch.js'
import { runStatements, sqlState } from './session.js'
import { type ConcurrentIndex, type FileStatement, unquoted } from '../files/statements.js'

/**
 * Runs one part of a file outside a transaction. An invalid index of an interrupted run is dropped and rebuilt, and finished statements are skipped,
 * so this can be repeated until it succeeds.
 * @throws MigrationError if a statement fails, after dropping the invalid index that it left
 */
export function runOutside(
  database: Database,
  { file, part, watch }: { readonly file: string; readonly part: readonly FileStatement[]; readonly watch: Watch },
): Promise<void> {
  const work = async (connection: Connection) => {
    for (const [at, statement] of part.entries()) {
      watch.at({ statement: at + 1, of: part.length })
      const { concurrent: index, repeatable } = statement
      if (index) await runIndex(connection, { file, statement, index })
      else if (repeatable?.fills !== undefined)
        await fill(connection, { file, statement, table: repeatable.fills, watch })
      else if (repeatable) await withLockTimeout(connection, watch, () => runUnlessDone(connection, file, statement))
    }
  }
  return asOnlyMigratorOutside(database, work, watch)
}

interface Fill {
  readonly file: string
  readonly statement: FileStatement
  readonly table: string
  readonly watch: Watch
}

/** This many blocks of a table have a few thousand rows. */
const BLOCKS_AT_ONCE = 100

/** The blocks of a table, and of each of its partitions and of the tables that inherit from it. */
const BLOCKS = `
  with recursive parts(oid) as (
    select to_regclass($1)::oid union select i.inhrelid from parts p join pg_inherits i on i.inhparent = p.oid
  )
  select (pg_relation_size(oid) / current_setting('block_size')::bigint)::text from parts`

/**
 * Fills a column in many short transactions, one for each range of blocks, so that no row is locked for long. The same
 * range of all partitions is one transaction. Rows that already have a value are not changed, so an interrupted run can be continued.
 */
async function fill(connection: Connection, { file, statement: { text, line }, table, watch }: Fill): Promise<void> {
  const { rows } = await connection.query({ text: BLOCKS, values: [table] })
  const sizes = rows.map(([blocks]) => Number(blocks))
  const run = (condition: string) =>
    withLockTimeout(connection, watch, () => runStatements(connection, file, [{ text: text + condition, line }]))
  let from = 0
  while (sizes.some((blocks) => blocks > from)) {
    const parts = sizes.filter((blocks) => blocks > from).length
    const to = from + Math.max(1, Math.floor(BLOCKS_AT_ONCE / parts))
    await run(` and ${table}.ctid >= '(${from},0)'::tid and ${table}.ctid < '(${to},0)'::tid`)
    from = to
  }
  // Rows added since.
  await run('')
}

/** Runs a repeatable statement, unless it adds a constraint that an interrupted run has added. */
async function runUnlessDone(connection: Connection, file: string, statement: FileStatement): Promise<void> {
  const { adds } = statement.repeatable ?? {}
  if (adds && (await isAdded(connection, statement, adds))) return
  await runStatements(connection, file, [statement])
}

const CONSTRAINT = `
  select pg_get_constraintdef(oid), contype::text from pg_constraint
  where conrelid = to_regclass($1) and conname = $2`

/** Whether a table has the constraint that a statement adds: compares it with the constraint that the statement makes in its place. */
async function isAdded(
  connection: Connection,
  { text }: FileStatement,
  { table, constraint }: { readonly table: string; readonly constraint: string },
): Promise<boolean> {
  const values = [table, unquoted(constraint)]
  const read = async () => (await connection.query({ text: CONSTRAINT, values })).rows[0]
  const found = await read()
  if (!found) return false
  // The statement that builds the index, earlier in the file, has compared it.
  if (/\busing\s+index\s+\S+$/i.test(text)) return found[1] === 'u' || found[1] === 'p'
  await connection.query({ text: 'begin', values: [] })
  try {
    await connection.query({ text: `alter table ${table} drop constraint ${constraint}`, values: [] })
    await connection.query({ text, values: [] })
    const made = await read()
    const definition = (each: typeof made) => each?.[0]?.replace(/ NOT VALID$/, '')
    return definition(made) === definition(found)
  } finally {
    await connection.query({ text: 'rollback', values: [] })
  }
}

interface IndexPart {
  readonly file: string
  readonly statement: FileStatement
  readonly index: ConcurrentIndex
}

async function runIndex(connection: Connection, { file, statement, index }: IndexPart): Promise<void> {
  const run = () => runStatements(connection, file, [{ text: index.sql, line: statement.line }])
  const found = await stateOf(connection, index.name)
  if (!index.creates) return found === undefined ? undefined : run()
  if (found === 'valid' && (await isTheSame(connection, index.name, index.creates))) return
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

/** Unqualified names then mean temporary tables first, also where the settings of the server say last. */
const TEMPORARY_FIRST = `
  select set_config('search_path', concat_ws(', ', 'pg_temp', nullif(current_setting('search_path'), '')), true)`

const DEFINITION = `
  select pg_get_indexdef(indexrelid, 0, true), indrelid::regclass::text, quote_ident(c.relname)
  from pg_index join pg_class c on c.oid = indrelid where indexrelid = to_regclass($1)`

/** Whether an index is the one that a statement creates: compares it with the result on an empty table of the same columns. */
async function isTheSame(
  connection: Connection,
  name: string,
  creates: { readonly name: string; readonly text: string },
): Promise<boolean> {
  const define = async (index: string) => {
    const [[definition, relation, table] = []] = (await connection.query({ text: DEFINITION, values: [index] })).rows
    return { definition: definition?.replace(` ${relation} USING `, ' USING '), relation, table }
  }
  const { definition, relation, table } = await define(name)
  await connection.query({ text: 'begin', values: [] })
  try {
    await connection.query({ text: TEMPORARY_FIRST, values: [] })
    await connection.query({ text: `create temporary table ${table} (like ${relation})`, values: [] })
    await connection.query({ text: creates.text, values: [] })
    return (await define(`pg_temp.${creates.name}`)).definition === definition
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return false
  } finally {
    await connection.query({ text: 'rollback', values: [] })
  }
}
