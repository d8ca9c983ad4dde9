import type { ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import type { Cell } from '../../fields/cell.js'
import type { Database } from '../database.js'
import { cellColumn, wireColumn } from '../statements/columns.js'
import { documentColumn } from '../statements/projections.js'
import { readTable } from '../statements/table-reader.js'

/** The form of dumped records: one JSON text each, or a cell for each field, which is JSON for a list. */
export type DumpForm = 'document' | 'cells'

const SELECT: Readonly<Record<DumpForm, (model: ModelSpec) => readonly string[]>> = {
  document: ({ fields }) => [
    documentColumn(fields.map((field) => ({ name: field.name, expression: wireColumn(field) }))),
  ],
  cells: ({ fields }) =>
    fields.map((field) => (field.type.items ? `to_json(${wireColumn(field)})::text` : cellColumn(field))),
}

interface Dumped {
  readonly model: ModelSpec
  readonly form: DumpForm
  /** Whether the records are counted first. */
  readonly isCounted: boolean
}

/**
 * Passes every record of a model with all fields to `take`, as of one snapshot, in the order of `readTable`. `total` is the number of records, or 0 if
 * they are not counted.
 * @throws the errors of `take`, and a Problem if the database fails
 */
export function dumpRecords(
  database: Database,
  { model, form, isCounted }: Dumped,
  take: (rows: readonly (readonly Cell[])[], total: number) => Promise<void>,
): Promise<void> {
  const select = SELECT[form](model)
  return database.transaction(
    async (connection) => {
      const text = `select count(*)::text from ${tableSql(model.table)}`
      const counted = isCounted ? (await connection.query({ text, values: [] })).rows[0]?.[0] : undefined
      for await (const rows of readTable(connection, { model, select })) await take(rows, Number(counted ?? 0))
    },
    { snapshot: true, unlimited: true },
  )
}
