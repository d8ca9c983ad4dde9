import { fail } from '../../foundation/fail.js'
import { filledFields, type FilledField } from '../../config/default-sql.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'
import type { Row } from '../../resource/plan.js'
import type { Connection } from '../database.js'

/** A field that is written, and its column as SQL names it. */
export interface WriteColumn {
  readonly field: FieldSpec
  readonly column: string
}

/** How rows of a model are written. */
export interface WriteColumns {
  /** The columns of the fields that a row names, in the order of the row. */
  columnsOf(row: Row): readonly WriteColumn[]
  /** Assignments that every update adds, such as `updated_at = now()`. */
  readonly touched: readonly string[]
}

export function writeColumnsOf(model: ModelSpec): WriteColumns {
  const columns = new Map(model.fields.map((field) => [field.name, { field, column: identifier(field.column) }]))
  const onUpdate = model.fields.filter(({ auto }) => auto === 'on_update')
  return {
    columnsOf: (row) => Object.keys(row).map((name) => columns.get(name) ?? fail(`${model.name} has no field ${name}`)),
    touched: onUpdate.map((field) => `${identifier(field.column)} = now()`),
  }
}

/**
 * The columns of a table that are null in a new row unless an insert names them, and that the user of the database may write. Columns of
 * views are left out: if an insert into a view names a column, the default of the view's table does not apply.
 */
const UNFILLED = `
  select (
    select coalesce(json_agg(a.attname), '[]') from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = c.oid and c.relkind in ('r', 'p', 'f') and a.attnum > 0 and not a.attisdropped
      and not a.atthasdef and a.attidentity = '' and a.attgenerated = '' and t.typdefault is null
      and has_column_privilege(c.oid, a.attnum, 'INSERT'))::text
  from pg_class c where c.oid = to_regclass($1)`

/** Returns the fields that inserts must fill. */
export type Unfilled = (connection: Connection) => readonly FilledField[] | Promise<readonly FilledField[]>

/**
 * Asks the database once for each generation of its columns, and only about an unmanaged table with declared values: the program that owns the table
 * may add and drop defaults at any time.
 */
export function watchUnfilled(model: ModelSpec, counts: { readonly generation: number } = { generation: 0 }): Unfilled {
  const declared = filledFields(model)
  if (declared.length === 0) return () => declared
  let known: { readonly fields: readonly FilledField[]; readonly generation: number } | undefined
  const ask = async (connection: Connection) => {
    const { generation } = counts
    const { rows } = await connection.query({ text: UNFILLED, values: [tableSql(model.table)], retry: true })
    const columns = JSON.parse(rows[0]?.[0] ?? '[]') as readonly string[]
    const found = declared.filter(({ field }) => columns.includes(field.column))
    // The table may be created later.
    if (rows.length > 0) known = { fields: found, generation }
    return found
  }
  return (connection) => (known?.generation === counts.generation ? known.fields : ask(connection))
}
