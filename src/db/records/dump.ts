import type { ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import type { Database } from '../database.js'
import { cellColumn, documentColumn, wireColumn } from '../statements/projections.js'
import { holdSnapshot, readPages } from '../statements/table-reader.js'

/** How records are dumped: as one JSON text each, or as a cell for each field. */
export type DumpForm = 'document' | 'cells'

const SELECT: Readonly<Record<DumpForm, (model: ModelSpec) => readonly string[]>> = {
  document: ({ fields }) => [
    documentColumn(fields.map((field) => ({ name: field.name, expression: wireColumn(field) }))),
  ],
  cells: ({ fields }) => fields.map(cellColumn),
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
  const select = SELECT[form](model)
  return database.transaction(async (connection) => {
    await holdSnapshot(connection)
    for await (const rows of readPages(connection, { model, select })) await take(rows)
  })
}
