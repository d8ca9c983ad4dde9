import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'
import type { Connection, Statement } from '../database.js'
import { toProblem } from '../driver/errors.js'
import { replacing } from './columns.js'
import { constraintErrorsOf } from '../records/guards.js'
import { watchSkippedRows } from '../records/skipped-rows.js'

/** The result of an upsert. */
export interface Upserted {
  readonly created: number
  readonly updated: number
  /** The index of the first row whose record this transaction has already written, or an earlier row has; if set, nothing was done. */
  readonly repeated: number | undefined
  /** The indexes of rows that a trigger or a rule has skipped: no record has their key afterwards. */
  readonly skipped: readonly number[]
}

/** The properties of an existing table on which the SQL of an upsert depends. */
export interface ExistingTable {
  readonly isView: boolean
  /** The type and collation of each column: an existing column can have others than its field. */
  readonly types: ReadonlyMap<string, string>
  /** The columns that PostgreSQL generates, which nobody can write. */
  readonly generated: ReadonlySet<string>
  /**
   * Whether an upsert may use `on conflict`: the key must be unique at the end of each statement, and the table a plain one, with neither partitions nor
   * tables that inherit from it, whose name is not that of the proposed row.
   */
  readonly takesConflicts: boolean
  /** Whether a trigger or a rule may skip a new row. */
  readonly maySkip: boolean
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
  const constraintErrors = constraintErrorsOf(shape.model, shape.models)
  const [text, missing] = [upsertText(shape), missingText(shape)]
  return async (connection, rows) => {
    const cells = rows.map((row) => shape.fields.map((field) => writeCell(field, row[field.name])))
    const values = [JSON.stringify(cells)]
    try {
      const answer = await connection.query({ text, values })
      const [repeated, ...counts] = answer.rows[0] ?? []
      const [created = 0, updated = 0] = counts.map(Number)
      if (repeated != null) return { created, updated, repeated: Number(repeated) - 1, skipped: [] }
      // Where nothing may skip a row, a trigger has changed the key of one that is missing.
      const looks = shape.maySkip && created + updated < rows.length
      const skipped = looks ? (await connection.query({ text: missing, values })).rows : []
      return { created, updated, repeated: undefined, skipped: skipped.map(([n]) => Number(n) - 1) }
    } catch (error) {
      throw toProblem(error, constraintErrors)
    }
  }
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
  const columnOf = ({ column }: FieldSpec) => `${tableSql(model.table)}.${identifier(column)}`
  return key.map((field) => `${columnOf(field)} = "@given".c${fields.indexOf(field)}`).join(' and ')
}

/** Finds the rows whose records do not exist. It is a statement of its own, because an upsert does not see what it has written. */
function missingText(shape: Shape): string {
  return `${givenRows(shape)}
    select n::text from "@given" where not exists (select from ${tableSql(shape.model.table)} where ${sameKey(shape)}) order by n`
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

function insertOf({ model, fields, generated }: Shape): string {
  const written = fields.filter(({ column }) => !generated.has(column))
  return `insert into ${tableSql(model.table)} (${written.map(({ column }) => identifier(column)).join(', ')}) overriding system value
      select ${written.map((field) => `c${fields.indexOf(field)}`).join(', ')} from "@given" where ${UNREPEATED}`
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
  select a.attname, format_type(a.atttypid, a.atttypmod) || coalesce(
    (select format(' collate %I.%I', n.nspname, c.collname) from pg_collation c join pg_namespace n on n.oid = c.collnamespace
      where c.oid = a.attcollation and c.oid <> t.typcollation), ''), (a.attgenerated <> '')::text
  from pg_attribute a join pg_type t on t.oid = a.atttypid
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
  return {
    isView: kind.rows[0]?.[0] === 'true',
    types: new Map(columns.rows.map(([name, type]) => [name ?? '', type ?? ''])),
    generated: new Set(columns.rows.flatMap(([name, , generated]) => (generated === 'true' ? [name ?? ''] : []))),
    takesConflicts: conflicts.rows[0]?.[0] === 'true',
    maySkip: await watchSkippedRows(connection).maySkip(model, 'insert'),
  }
}

/** Moves a column's counter past every existing number, so that the next record gets a free one. Does nothing for columns without a counter. */
function advanceCounter(table: string, field: FieldSpec): Statement {
  const column = identifier(field.column)
  const name = tableSql(table)
  const text = `select setval(s::regclass, n) from (
      select s, case when s is not null then m::bigint end as n from (
        select pg_get_serial_sequence($1, $2) as s, (select ${column}::text from ${name} order by ${tableAlias(table)}.${column} desc limit 1) as m
      ) as found
    ) as counter where n > coalesce(pg_sequence_last_value(s::regclass), 0)`
  return { text, values: [name, field.column] }
}

/** Moves the counters of a primary key past every existing number. */
export async function advanceCounters(connection: Connection, { table, key }: ModelSpec): Promise<void> {
  for (const field of key) await connection.query(advanceCounter(table, field))
}
