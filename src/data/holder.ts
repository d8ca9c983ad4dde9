import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { takenKeyOf } from '../db/driver/errors.js'
import { splitColumns } from '../db/driver/field-errors.js'
import { compared, comparedColumn } from '../fields/compared-column.js'
import { cellColumn } from '../db/statements/columns.js'
import type { ExistingTable } from '../db/statements/upsert.js'
import type { Connection } from '../db/database.js'
import { writeCell } from '../fields/cell.js'
import { identifier } from '../fields/sql-literal.js'
import { tableSql } from '../fields/table-name.js'
import type { Row } from '../resource/plan.js'

interface Table {
  readonly connection: Connection
  readonly model: ModelSpec
  readonly key: readonly FieldSpec[]
  readonly table: ExistingTable
}

/** The texts of the fields by which a row finds its record. */
export function keyTexts(key: readonly FieldSpec[], row: Row): readonly (string | null)[] {
  return key.map((field) => writeCell(field, row[field.name]))
}

/**
 * Finds the record that has the unique values of a rejected row, and returns the texts of its key; undefined unless exactly one record can be meant: the
 * server names the values, but neither the conditions of an index nor, clearly, where each of several values ends.
 */
export async function findHolder(
  { connection, model, key, table }: Table,
  row: Row,
  error: unknown,
): Promise<readonly (string | null)[] | undefined> {
  const taken = takenKeyOf(error)
  if (!taken) return undefined
  const named = splitColumns(taken.columns).map((column) =>
    model.fields.find((field) => field.column === column || identifier(field.column) === column),
  )
  const fields = named.flatMap((field) => field ?? [])
  const isSingle = fields.length === 1
  const given = fields.map((field) => cellOf(field, row))
  // The server writes null like the text `null`.
  if (isSingle && taken.texts === 'null' && given[0] !== 'null') return undefined
  // A trigger may have changed the value, so a single value is taken from the error of the server.
  const cells = isSingle ? [taken.texts] : given
  if (fields.length < named.length || cells.some((cell) => cell == null)) return undefined
  const values = [...cells.map(String), taken.texts, ...keyTexts(key, row)]
  const valueOf = (field: FieldSpec, place: number) => `$${place}::${table.types.get(field.column) ?? 'text'}`
  const equals = (field: FieldSpec, place: number) =>
    `${comparedColumn(field)} = ${compared(field, valueOf(field, place))}`
  const conditions = fields.map((field, at) => equals(field, at + 1))
  // A trigger may have changed the row: the values must be those that the server names.
  const texts = fields.map((field, at) => `format('%s', ${valueOf(field, at + 1)}) collate "C"`).join(', ')
  const own = key.map((field, at) => equals(field, fields.length + 2 + at)).join(' and ')
  const text = `select ${key.map(cellColumn).join(', ')} from ${tableSql(model.table)}
    where ${conditions.join(' and ')} and concat_ws(', ', ${texts}) = $${fields.length + 1} and (${own}) is not true limit 2`
  const { rows } = await connection.query({ text, values })
  const [holder] = rows
  return rows.length === 1 ? holder : undefined
}

function cellOf(field: FieldSpec, row: Row): string | null | undefined {
  return Object.hasOwn(row, field.name) ? writeCell(field, row[field.name]) : undefined
}
