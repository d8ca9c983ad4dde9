import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Connection, Database } from '../database.js'
import { analyzeTables } from './analyze.js'
import { deferForeignKeys } from './deferral.js'
import { type Reading, readTable } from '../statements/table-reader.js'
import { digestRows, type RowDigests, SPELLING } from './row-digests.js'
import { advanceSequences } from '../statements/key-sequences.js'
import { isBroken, isTransient } from '../driver/errors.js'
import { codeOf, driverError } from '../driver/meanings.js'

/** Why records cannot be copied to another database; nothing was copied. */
export class CopyRejected extends Error {
  override readonly name = 'CopyRejected'
  readonly help: readonly string[]

  constructor(message: string, help: readonly string[] = []) {
    super(message)
    this.help = help
  }
}

export interface Copied {
  /** The number of rows of each table, by name. */
  readonly tables: ReadonlyMap<string, number>
  /** Tables without a model that have rows; they are not copied. */
  readonly left: readonly string[]
  /** Tables in which the source's rows replaced rows that migrations had created. */
  readonly replaced: readonly string[]
}

interface CopyOptions {
  /** Digests the rows that migrations create; called only if the target has rows. */
  readonly digestMade: () => Promise<RowDigests>
  /** Called as rows are copied and compared, with the steps done and all steps: two for each row. */
  readonly onProgress: (done: number, total: number, table: string) => void
}

interface Column {
  readonly name: string
  readonly type: string
  /** Whether every database sorts its values in the same order. */
  readonly sortsAlike: boolean
}

/**
 * Copies all records of the configuration's tables to a database that has the same, empty tables, in one transaction, and compares every cell of
 * every row before the commit.
 * @throws CopyRejected if the target has other rows or lacks a column, or if a copied row differs; a Problem if a database fails
 */
export async function copyRecords(
  source: Database,
  target: Database,
  spec: AppSpec,
  { digestMade, onProgress }: CopyOptions,
): Promise<Copied> {
  let copied: readonly ModelSpec[] = []
  const copyFrom = async (from: Connection) => {
    const models = await tablesAmong(from, spec.models)
    const total = 2 * (await countRows(from, models))
    return target.transaction(
      async (to) => {
        let done = 0
        for (const text of SPELLING) for (const one of [from, to]) await one.query({ text, values: [] })
        const replaced = await lockEmpty(to, models, digestMade)
        const deferral = await deferForeignKeys(
          to,
          models.map(({ table }) => table),
        )
        const tables = new Map<string, number>()
        for (const model of models) {
          const onRows = (rows: number) => onProgress((done += rows), total, model.table)
          const copying = { model, columns: await sameColumns(from, to, model), onRows }
          await copyTable(from, to, copying)
          tables.set(model.table, await compareTable(from, to, copying))
          await copySequences(from, to, copying)
        }
        await deferral.settle()
        copied = models
        return { tables, left: await othersOf(from, models), replaced }
      },
      { unlimited: true },
    )
  }
  const result = await source.transaction(copyFrom, { snapshot: true, unlimited: true })
  await analyzeTables(target, copied)
  return result
}

async function countRows(from: Connection, models: readonly ModelSpec[]): Promise<number> {
  let count = 0
  for (const { table } of models) {
    const { rows } = await from.query({ text: `select count(*)::text from ${tableSql(table)}`, values: [] })
    count += Number(rows[0]?.[0])
  }
  return count
}

/** The models of tables: views have no rows of their own. */
async function tablesAmong(from: Connection, models: readonly ModelSpec[]): Promise<readonly ModelSpec[]> {
  const text = `select t from json_array_elements_text($1::json) t join pg_class c on c.oid = to_regclass(t) where c.relkind in ('v', 'm')`
  const { rows } = await from.query({ text, values: [JSON.stringify(models.map(({ table }) => tableSql(table)))] })
  const views = new Set(rows.map(([name]) => name))
  return models.filter(({ table }) => !views.has(tableSql(table)))
}

/**
 * Locks the tables. Empties those that contain only rows created by migrations, because the source has the same rows or has changed them since.
 * @returns the tables that had rows
 * @throws CopyRejected if a table has other rows
 */
async function lockEmpty(
  to: Connection,
  models: readonly ModelSpec[],
  digestMade: () => Promise<RowDigests>,
): Promise<readonly string[]> {
  const names = models.map(({ table }) => tableSql(table))
  if (names.length === 0) return []
  await to.query({ text: `lock table ${names.join(', ')} in share row exclusive mode`, values: [] })
  const full: ModelSpec[] = []
  for (const model of models) if (await hasRows(to, tableSql(model.table))) full.push(model)
  if (full.length === 0) return []
  const others = await findForeign(to, full, digestMade)
  if (others.length > 0)
    throw new CopyRejected(`the target has rows already, in ${others.join(', ')}`, [
      'only tables that are empty, or have only the rows that migrations made, are filled: name another database, or empty these yourself',
    ])
  const tables = full.map(({ table }) => table)
  await truncate(to, names, tables)
  return tables
}

/**
 * A migration writes its rows and its journal entry in one transaction; later changes use others. That is not proof: a migration that updates rows or
 * rewrites a table stamps users' rows with its own transaction ID.
 */
const NOT_OF_MIGRATIONS = 'where xmin::text not in (select xmin::text from snippetctl_migrations)'

/** @returns the tables with rows that no migration created */
async function findForeign(
  to: Connection,
  models: readonly ModelSpec[],
  digestMade: () => Promise<RowDigests>,
): Promise<readonly string[]> {
  const written: string[] = []
  for (const { table } of models) if (await hasRows(to, `${tableSql(table)} ${NOT_OF_MIGRATIONS}`)) written.push(table)
  if (written.length > 0) return written
  const [made, there] = [await digestMade(), await digestRows(to, models)]
  return [...there].filter(([table, digest]) => digest !== made.get(table)).map(([table]) => table)
}

/** A table that is not truncated refers to one that is. */
const REFERENCED = '0A000'

/** Truncates all tables at once, because they refer to each other. No other table is affected. */
async function truncate(to: Connection, names: readonly string[], full: readonly string[]): Promise<void> {
  try {
    await to.query({ text: `truncate ${names.join(', ')}`, values: [] })
  } catch (error) {
    const cause = driverError(error)
    if (cause === undefined || isBroken(cause) || isTransient(cause)) throw error
    throw new CopyRejected(
      `the rows that migrations inserted into ${full.join(', ')} cannot be replaced: ${cause.message}`,
      codeOf(cause) === REFERENCED ? ['a table without a model refers to them: empty the tables yourself'] : [],
    )
  }
}

async function hasRows(connection: Connection, table: string): Promise<boolean> {
  const { rows } = await connection.query({ text: `select exists (select from ${table})::text`, values: [] })
  return rows[0]?.[0] === 'true'
}

const COLUMNS = `
  select attname, format_type(atttypid, atttypmod), (attcollation in (0, 'pg_catalog."C"'::regcollation))::text from pg_attribute
  where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`

async function columnsOf(connection: Connection, { table }: ModelSpec): Promise<readonly Column[]> {
  const { rows } = await connection.query({ text: COLUMNS, values: [tableSql(table)] })
  return rows.map(([name, type, alike]) => ({ name: name ?? '', type: type ?? '', sortsAlike: alike === 'true' }))
}

/** The columns to copy: all columns of the source, which may have more than the model. */
async function sameColumns(from: Connection, to: Connection, model: ModelSpec): Promise<readonly Column[]> {
  const [wanted, there] = [await columnsOf(from, model), await columnsOf(to, model)]
  for (const { name, type } of wanted) {
    const other = there.find((column) => column.name === name)
    if (other?.type === type) continue
    const state = other ? `is ${other.type} in the target and ${type} here` : 'is not in the target'
    throw new CopyRejected(`the column ${model.table}.${name} ${state}`, [
      'the migrations must make the same tables in both: snippetctl migrate status',
    ])
  }
  return wanted
}

interface Copying {
  readonly model: ModelSpec
  readonly columns: readonly Column[]
  /** Called after rows were copied or compared. */
  readonly onRows: (count: number) => void
}

function readingOf({ model, columns }: Pick<Copying, 'model' | 'columns'>): Reading {
  return {
    model,
    select: columns.map(({ name }) => `${tableAlias(model.table)}.${identifier(name)}::text`),
  }
}

async function copyTable(from: Connection, to: Connection, { model, columns, onRows }: Copying): Promise<void> {
  const names = columns.map(({ name }) => identifier(name)).join(', ')
  const casts = columns.map(({ type }, index) => `(r ->> ${index})::${type}`).join(', ')
  const text = `insert into ${tableSql(model.table)} (${names}) overriding system value
    select ${casts} from json_array_elements($1::json) as g(r)`
  for await (const rows of readTable(from, readingOf({ model, columns }))) {
    await to.query({ text, values: [JSON.stringify(rows)] })
    onRows(rows.length)
  }
}

/** @returns the number of rows if both sides are equal */
async function compareTable(from: Connection, to: Connection, copying: Copying): Promise<number> {
  const { model, columns, onRows } = copying
  const isSorted = model.key.every(({ column }) =>
    columns.some(({ name, sortsAlike }) => name === column && sortsAlike),
  )
  // Without a key, rows are read in an order that does not depend on the database.
  const reading = readingOf({ columns, model: isSorted ? model : { ...model, key: [] } })
  const theirs = readTable(to, reading)[Symbol.asyncIterator]()
  let count = 0
  for await (const rows of readTable(from, reading)) {
    const { value = [] } = (await theirs.next()) as { readonly value?: readonly (readonly Cell[])[] }
    const wrong = rows.findIndex((cells, index) => !cells.every((cell, at) => cell === value[index]?.[at]))
    if (wrong >= 0 || rows.length !== value.length) throw different(model, count + Math.max(0, wrong) + 1)
    count += rows.length
    onRows(rows.length)
  }
  if (!(await theirs.next()).done) throw different(model, count + 1)
  return count
}

function different({ table }: ModelSpec, place: number): CopyRejected {
  return new CopyRejected(`row ${place} of ${table} is not the same in the target; nothing was kept`, [
    'a trigger, a rule or another encoding there may change the values',
  ])
}

/** Sets the sequences as on the source; the sequence of a key is also moved past every existing number. */
async function copySequences(from: Connection, to: Connection, { model, columns }: Copying): Promise<void> {
  const find = 'select pg_get_serial_sequence($1, $2)'
  for (const { name } of columns) {
    const values = [tableSql(model.table), name]
    const [here, there] = [await from.query({ text: find, values }), await to.query({ text: find, values })]
    const [[own] = []] = here.rows
    const [[other] = []] = there.rows
    if (own == null || other == null) continue
    const state = await from.query({ text: `select last_value::text, is_called::text from ${own}`, values: [] })
    const [[last = null, called = null] = []] = state.rows
    await to.query({ text: 'select setval($1::regclass, $2::bigint, $3::boolean)', values: [other, last, called] })
  }
  await advanceSequences(to, model)
}

const OTHERS = `
  select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relname !~ '^snippetctl_migrations'
  and c.oid <> all (select to_regclass(t) from json_array_elements_text($1) t) order by 1`

async function othersOf(from: Connection, models: readonly ModelSpec[]): Promise<readonly string[]> {
  const values = [JSON.stringify(models.map(({ table }) => tableSql(table)))]
  const { rows } = await from.query({ text: OTHERS, values })
  const left: string[] = []
  for (const [table] of rows) if (table != null && (await hasRows(from, table))) left.push(table)
  return left
}
