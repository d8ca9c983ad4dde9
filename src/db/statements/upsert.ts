import { tableSql } from '../../fields/table-name.js'
import type { FilledField } from '../../config/default-sql.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'
import { Problem } from '../../foundation/problem.js'
import type { Connection } from '../database.js'
import { toProblem } from '../driver/errors.js'
import { codeOf, routineOf } from '../driver/meanings.js'
import { compared, comparedColumn } from '../../fields/compared-column.js'
import { replacing } from './columns.js'
import { constraintErrorsOf } from '../records/guards.js'
import { watchSkippedRows } from '../records/skipped-rows.js'
import { watchUnfilled } from './write-columns.js'

/** The result of an upsert. */
export interface Upserted {
  readonly created: number
  readonly updated: number
  /** The index of the first row whose record this transaction or an earlier row has already written; if set, nothing was written. */
  readonly repeated: number | undefined
  /** The indexes of rows that a trigger or a rule has skipped. */
  readonly skipped: readonly number[]
}

/** The properties of an existing table on which the SQL of an upsert depends. */
export interface ExistingTable {
  readonly isView: boolean
  /**
   * The type and collation of each column: an existing column can have others than its field. Texts have no length here, because a cast to a length
   * truncates them silently.
   */
  readonly types: ReadonlyMap<string, string>
  /** The same types as they are declared: with their lengths, and as domains. */
  readonly declaredTypes: ReadonlyMap<string, string>
  /** The columns that PostgreSQL generates, which nobody can write. */
  readonly generated: ReadonlySet<string>
  /** The fields with a declared value that their columns do not have as their default. */
  readonly unfilled: readonly FilledField[]
  /**
   * Whether an upsert may use `on conflict`: the key must be unique at the end of each statement, and the table must be an ordinary one, without partitions
   * or inheriting tables, and not be named `excluded`, like the proposed row.
   */
  readonly takesConflicts: boolean
  /** Whether a trigger or a rule may skip a new or changed row. */
  readonly maySkip: boolean
  /** The columns that a check constraint names; undefined if it is not known. */
  readonly checkedColumns: (constraint: string) => readonly string[] | undefined
}

interface Shape extends ExistingTable {
  readonly model: ModelSpec
  /** All models of the configuration. */
  readonly models: readonly ModelSpec[]
  /** The fields of every row, in order. */
  readonly fields: readonly FieldSpec[]
  /** The fields of a unique constraint, by which a row finds its record. */
  readonly key: readonly FieldSpec[]
}

/** Matches rows that the current transaction has written, by their system column `xmin`. */
const OWN = `(txid_current() % 4294967296)::text`

/**
 * Compiles an upsert: it inserts rows with new keys and updates rows that differ in any field, compared by exact text. Fields that the rows lack keep
 * their values.
 * @throws Problem with the invalid field if the database rejects a row
 */
export function compileUpsert(shape: Shape): (connection: Connection, rows: readonly Row[]) => Promise<Upserted> {
  const constraintErrors = constraintErrorsOf(shape.model, shape.models, shape)
  const [text, unwritten] = [upsertText(shape), unwrittenText(shape)]
  const valuesOf = (rows: readonly Row[]) => {
    const cells = rows.map((row) => shape.fields.map((field) => writeCell(field, row[field.name])))
    return [JSON.stringify(cells)]
  }
  const skippedOf = async (connection: Connection, rows: readonly Row[]): Promise<readonly number[]> => {
    const found = await connection.query({ text: unwritten, values: valuesOf(rows) })
    const skipped: number[] = []
    for (const [n, exists] of found.rows) {
      const index = Number(n) - 1
      const values = valuesOf(rows.slice(index, index + 1))
      if (exists === 'true' || !(await isStored(connection, shape, values))) skipped.push(index)
    }
    return skipped
  }
  return async (connection, rows) => {
    try {
      const answer = await connection.query({ text, values: valuesOf(rows) })
      const [repeated, ...counts] = answer.rows[0] ?? []
      const [created = 0, updated = 0] = counts.map(Number)
      if (repeated != null) return { created, updated, repeated: Number(repeated) - 1, skipped: [] }
      const skipped = shape.maySkip && created + updated < rows.length ? await skippedOf(connection, rows) : []
      return { created, updated, repeated: undefined, skipped }
    } catch (error) {
      if (isWrittenTwice(error)) throw new Problem('conflict', 'Two records have the same key', { cause: error })
      throw toProblem(error, constraintErrors)
    }
  }
}

/** Whether a record is stored under another key, which a trigger has given it. Then an insert that was not skipped conflicts with it. */
async function isStored(connection: Connection, shape: Shape, values: readonly string[]): Promise<boolean> {
  await connection.query({ text: 'savepoint stored', values: [] })
  try {
    const { rows } = await connection.query({ text: probeText(shape), values })
    return rows.length > 0
  } catch (error) {
    if (codeOf(error) !== '23505') throw error
    return true
  } finally {
    await connection.query({ text: 'rollback to savepoint stored', values: [] })
  }
}

/** Whether two rows of one statement have become the same record, or a trigger of one row has changed the record of another. */
function isWrittenTwice(error: unknown): boolean {
  return codeOf(error) === '27000' || (codeOf(error) === '21000' && routineOf(error) === 'ExecOnConflictUpdate')
}

/** Nothing is written if a record is repeated. */
const UNREPEATED = `(select n from "@repeated") is null`

// The table itself must not be hidden by one of these queries, so their names are unusual; the columns of the table are always qualified.
function givenRows({ fields, types }: Shape): string {
  const cast = ({ column, type, options }: FieldSpec, index: number) =>
    `(r ->> ${index})::${types.get(column) ?? type.column(options)} as c${index}`
  return `with "@given" as (
      select n, ${fields.map(cast).join(', ')} from json_array_elements($1::json) with ordinality as g(r, n)
    )`
}

/** The condition that a row of the table has the key of a given row. */
function sameKey({ model, fields, key }: Shape): string {
  const given = (field: FieldSpec) => compared(field, `"@given".c${fields.indexOf(field)}`)
  return key.map((field) => `${comparedColumn(field, tableSql(model.table))} = ${given(field)}`).join(' and ')
}

/**
 * Finds the rows whose records do not exist, or still differ although this transaction has not written them. It is a statement of its own, because an
 * upsert does not see what it has written.
 */
function unwrittenText(shape: Shape): string {
  const { model, fields } = shape
  const table = tableSql(model.table)
  const changes = changesOf(shape, (field) => `"@given".c${fields.indexOf(field)}`)
  const kept = changes ? `${table}.xmin::text <> ${OWN} and ${changes.where}` : 'false'
  return `${givenRows(shape)}
    select n::text, (${table}.tableoid is not null)::text from "@given" left join ${table} on ${sameKey(shape)}
    where ${table}.tableoid is null or ${kept} order by n`
}

/** Returns a row for a record that can be inserted. */
function probeText(shape: Shape): string {
  return `${givenRows(shape)}, "@repeated" as (select null as n) ${insertOf(shape)} returning 'true'`
}

function upsertText(shape: Shape): string {
  const { model, fields, key, takesConflicts } = shape
  const table = tableSql(model.table)
  const cellOf = (field: FieldSpec) => `c${fields.indexOf(field)}`
  const same = sameKey(shape)
  return `${givenRows(shape)}, "@repeated" as (
      select min(n) as n from (
        select n from (select n, row_number() over (partition by ${key.map(cellOf).join(', ')} order by n) from "@given") as g(n, copy) where copy > 1
        union all select "@given".n from "@given" join ${table} on ${same} where ${table}.xmin::text = ${OWN}
      ) as g
    ), ${takesConflicts ? writtenOnConflict(shape) : writtenSeparately(shape, same)}
    select (select n from "@repeated")::text, count(*) filter (where created)::text, count(*) filter (where not created)::text
    from "@written"`
}

function writtenOnConflict(shape: Shape): string {
  const { model, key } = shape
  const changes = changesOf(shape, ({ column }) => `excluded.${identifier(column)}`)
  return `"@written" as (
      ${insertOf(shape)} order by n
      on conflict (${key.map(({ column }) => identifier(column)).join(', ')}) do ${changes ? `update ${changes.set} where ${changes.where}` : 'nothing'}
      returning ${tableSql(model.table)}.xmax = 0 as created
    )`
}

/** Updates the existing records, and inserts the others. */
function writtenSeparately(shape: Shape, same: string): string {
  const { model, fields } = shape
  const table = tableSql(model.table)
  const changes = changesOf(shape, (field) => `"@given".c${fields.indexOf(field)}`)
  const updated =
    changes &&
    `update ${table} ${changes.set} from "@given"
      where ${UNREPEATED} and ${same} and ${changes.where} returning false as created`
  return `"@inserted" as (
      ${insertOf(shape)} and not exists (select from ${table} where ${same}) order by n returning true as created
    ), ${updated ? `"@updated" as (${updated}), ` : ''}"@written" as (
      select created from "@inserted"${updated ? ' union all select created from "@updated"' : ''}
    )`
}

function insertOf({ model, fields, generated, unfilled }: Shape): string {
  const given = fields.map((field, index) => ({ field, sql: `c${index}` }))
  const filled = unfilled.filter(({ field }) => !fields.includes(field))
  const written = [...given, ...filled].filter(({ field }) => !generated.has(field.column))
  return `insert into ${tableSql(model.table)} (${written.map(({ field }) => identifier(field.column)).join(', ')}) overriding system value
      select ${written.map(({ sql }) => sql).join(', ')} from "@given" where ${UNREPEATED}`
}

/**
 * The assignments of an update, and the condition that a value differs; undefined if the key has all fields that can be written.
 * @param given the SQL of a given value
 */
function changesOf({ model, fields, key, generated }: Shape, given: (field: FieldSpec) => string) {
  const changing = fields.filter((field) => !key.includes(field) && !generated.has(field.column))
  if (changing.length === 0) return undefined
  const touched = model.fields.filter((field) => field.auto === 'on_update' && !fields.includes(field))
  const own = ({ column }: FieldSpec) => `${tableSql(model.table)}.${identifier(column)}`
  const stored = (field: FieldSpec) => replacing(field, own(field), given(field))
  const changes = [
    ...changing.map((field) => `${identifier(field.column)} = ${stored(field)}`),
    ...touched.map(({ column }) => `${identifier(column)} = now()`),
  ]
  const texts = (of: (field: FieldSpec) => string) => changing.map((field) => `${of(field)}::text`).join(', ')
  return { set: `set ${changes.join(', ')}`, where: `(${texts(own)}) is distinct from (${texts(stored)})` }
}

const COLUMNS = `
  select a.attname, case when base.id in ('varchar'::regtype, 'bpchar'::regtype, 'varchar[]'::regtype, 'bpchar[]'::regtype)
    then format_type(base.id, -1) else format_type(a.atttypid, a.atttypmod) end || coalesce(
    (select format(' collate %I.%I', n.nspname, c.collname) from pg_collation c join pg_namespace n on n.oid = c.collnamespace
      where c.oid = a.attcollation and c.oid <> t.typcollation), ''), (a.attgenerated <> '')::text,
    format_type(a.atttypid, a.atttypmod)
  from pg_attribute a join pg_type t on t.oid = a.atttypid, lateral (
    with recursive domains as (
      select t.oid as id, t.typtype as kind, t.typbasetype as below
      union all select d.oid, d.typtype, d.typbasetype from pg_type d join domains on d.oid = below and kind = 'd'
    ) select id from domains where kind <> 'd') as base
  where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped`

const IS_VIEW = `select (relkind in ('v', 'm'))::text from pg_class where oid = $1::regclass`

const TAKES_CONFLICTS = `
  select bool_and(i.indimmediate and c.relkind = 'r' and not c.relhassubclass and c.relname <> 'excluded')::text
  from pg_index i join pg_class c on c.oid = i.indrelid
  where i.indrelid = $1::regclass and i.indisunique and i.indisvalid and i.indpred is null
    and (select jsonb_agg(a.attname order by a.attname) from pg_attribute a
      where a.attrelid = i.indrelid and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
      = (select jsonb_agg(name order by name) from jsonb_array_elements_text($2) name)`

/** @param key the fields by which rows find their records */
export async function readExistingTable(
  connection: Connection,
  model: ModelSpec,
  key: readonly FieldSpec[],
): Promise<ExistingTable> {
  const table = tableSql(model.table)
  const columns = await connection.query({ text: COLUMNS, values: [table] })
  const kind = await connection.query({ text: IS_VIEW, values: [table] })
  const names = JSON.stringify(key.map(({ column }) => column))
  const conflicts = await connection.query({ text: TAKES_CONFLICTS, values: [table, names] })
  const skips = watchSkippedRows(connection)
  return {
    isView: kind.rows[0]?.[0] === 'true',
    types: new Map(columns.rows.map(([name, type]) => [name ?? '', type ?? ''])),
    declaredTypes: new Map(columns.rows.map(([name, , , type]) => [name ?? '', type ?? ''])),
    generated: new Set(columns.rows.flatMap(([name, , generated]) => (generated === 'true' ? [name ?? ''] : []))),
    unfilled: await watchUnfilled(model)(connection),
    takesConflicts: conflicts.rows[0]?.[0] === 'true',
    maySkip: (await skips.maySkip(model, 'insert', connection)) || (await skips.maySkip(model, 'update', connection)),
    checkedColumns: (constraint) => skips.checkedColumns(model, constraint),
  }
}
