import type { ModelSpec } from '../config/spec.js'
import type { Cell } from '../fields/cell.js'
import { identifier } from '../fields/sql-literal.js'
import type { Database } from './database.js'
import { wireColumn } from './forms.js'
import { holdSnapshot, readPages } from './pages.js'

/** How records are dumped: as one JSON text each, or as a cell for each field. */
export type DumpForm = 'document' | 'cells'

const SELECT: Readonly<Record<DumpForm, (model: ModelSpec) => readonly string[]>> = {
  document(model) {
    const table = identifier('@')
    const members = model.fields.map((field) => `${wireColumn(field)} as ${identifier(field.name)}`)
    return [`(select row_to_json(${table})::text from (select ${members.join(', ')}) ${table})`]
  },
  cells: (model) => model.fields.map((field) => `(${wireColumn(field)})::text`),
}

/**
 * Hands over every record of a model in the order of its primary key, all its fields, as they were at one moment.
 * @throws what `take` throws, and a Problem when the database fails
 */
export function dumpRecords(
  database: Database,
  { model, form }: { readonly model: ModelSpec; readonly form: DumpForm },
  take: (rows: readonly (readonly Cell[])[]) => Promise<void>,
): Promise<void> {
  const { table, primaryKey } = model
  const reading = {
    table,
    key: primaryKey.column,
    keyType: primaryKey.type.column(primaryKey.options),
    select: SELECT[form](model),
  }
  return database.transaction(async (connection) => {
    await holdSnapshot(connection)
    for await (const rows of readPages(connection, reading)) await take(rows)
  })
}
