import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'
import type { Connection, Statement } from '../database.js'
import { toProblem } from '../driver/errors.js'
import { constraintErrorsOf } from '../records/guards.js'

/** The result of an upsert. */
export interface Upserted {
  readonly created: number
  readonly updated: number
  /** The index of the first row whose record this transaction has already written; if set, nothing was done. */
  readonly repeated: number | undefined
}

interface Columns {
  readonly model: ModelSpec
  /** The fields of every row, in order. */
  readonly fields: readonly FieldSpec[]
  /** The fields of a unique constraint, by which a row finds its record. */
  readonly key: readonly FieldSpec[]
}

interface Shape extends Columns {
  /** The type of each column in the database, as `readColumnTypes` reads it: an existing column can have another type than its field. */
  readonly types: ReadonlyMap<string, string>
  /** All models of the configuration. */
  readonly models: readonly ModelSpec[]
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
  const text = upsertText(shape)
  return async (connection, rows) => {
    const cells = rows.map((row) => shape.fields.map((field) => writeCell(field, row[field.name])))
    try {
      const answer = await connection.query({ text, values: [JSON.stringify(cells)] })
      const [repeated, created, updated] = answer.rows[0] ?? []
      return {
        created: Number(created),
        updated: Number(updated),
        repeated: repeated == null ? undefined : Number(repeated) - 1,
      }
    } catch (error) {
      throw toProblem(error, constraintErrors)
    }
  }
}

function upsertText({ model, fields, key, types }: Shape): string {
  const table = tableSql(model.table)
  const cast = ({ column, type, options }: FieldSpec, index: number) =>
    `(r ->> ${index})::${types.get(column) ?? type.column(options)} as c${index}`
  const own = ({ column }: FieldSpec) => `${table}.${identifier(column)}`
  const same = key.map((field) => `${own(field)} = "@given".c${fields.indexOf(field)}`).join(' and ')
  const columns = fields.map(({ column }) => identifier(column)).join(', ')
  // The table itself must not be hidden by one of these queries, so their names are unusual; the columns of the table are always qualified.
  return `with "@given" as (
      select n, ${fields.map(cast).join(', ')} from json_array_elements($1::json) with ordinality as g(r, n)
    ), "@repeated" as (
      select min("@given".n) as n from "@given" join ${table} on ${same} where ${table}.xmin::text = ${OWN}
    ), "@written" as (
      insert into ${table} (${columns}) overriding system value
      select ${fields.map((_, index) => `c${index}`).join(', ')} from "@given" where (select n from "@repeated") is null order by n
      on conflict (${key.map(({ column }) => identifier(column)).join(', ')}) do ${conflictAction({ model, fields, key })}
      returning ${table}.xmax = 0 as created
    )
    select (select n from "@repeated")::text, count(*) filter (where created)::text, count(*) filter (where not created)::text
    from "@written"`
}

function conflictAction({ model, fields, key }: Columns): string {
  const changing = fields.filter((field) => !key.includes(field))
  if (changing.length === 0) return 'nothing'
  const touched = model.fields.filter((field) => field.auto === 'on_update' && !fields.includes(field))
  const table = tableSql(model.table)
  const changes = [
    ...changing.map(({ column }) => `${identifier(column)} = excluded.${identifier(column)}`),
    ...touched.map(({ column }) => `${identifier(column)} = now()`),
  ]
  const texts = (of: string) => changing.map(({ column }) => `${of}.${identifier(column)}::text`).join(', ')
  return `update set ${changes.join(', ')} where (${texts(table)}) is distinct from (${texts('excluded')})`
}

/** Reads the type of each column of a table. */
export async function readColumnTypes(connection: Connection, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query({
    text: `select attname, format_type(atttypid, atttypmod) from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    values: [tableSql(table)],
  })
  return new Map(rows.map(([name, type]) => [name ?? '', type ?? '']))
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
