import { tableSql } from '../../fields/table-name.js'
import type { ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import type { Row, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type BulkStatements, compileBulkStatements } from './bulk-statements.js'
import { keyTexts, type Projection } from './projections.js'
import { compileListStatements, type ListStatements } from './list-statements.js'
import { compileRecordStatements, type RecordStatements } from './record-statements.js'
import { filledByScope, scopeChecks } from './scope.js'
import {
  createPreparedStatements,
  createTextCache,
  type Rendered,
  type StatementCounts,
} from './prepared-statements.js'
import { parameters } from './where.js'
import { type WriteColumns, writeColumnsOf } from './write-columns.js'

/** Every statement of a resource in one projection. All SQL for records is generated here. */
export interface Statements extends ListStatements, RecordStatements, BulkStatements {
  create(row: Row): Statement
}

/** The number of texts that are cached and prepared on each connection. Clients can cause more texts than that. */
const MAX_TEXTS = 200
/** The same for texts of partial reads, which must not evict the others. */
const MAX_PARTIAL_TEXTS = 50

/** Compiles the statements of a model; each call of the result returns them, narrowed to the given scopes, if any. */
export function compileStatements(
  model: ModelSpec,
  projection: Projection<unknown, unknown>,
  counts: StatementCounts = { kept: 0, unkept: 0, generation: 0 },
): (scopes?: Scopes) => Statements {
  const prepared = createPreparedStatements(model.table, counts, MAX_TEXTS)
  const partial = createPreparedStatements(model.table, counts, MAX_PARTIAL_TEXTS)
  const selected = projection.select.join(', ')
  const writeColumns = writeColumnsOf(model)
  const parts = { model, projection, prepared, partial, writeColumns }
  const head = `insert into ${tableSql(model.table)} `
  const tail = ` returning ${[...keyTexts(model), ...projection.select].join(', ')}`
  const inserting = createTextCache((values) => `${head}${values}${tail}`, MAX_TEXTS)
  const lists = compileListStatements(parts)
  const records = compileRecordStatements(parts)
  const within = (scopes: Scopes | undefined): Statements => ({
    ...lists(scopes),
    ...records(scopes),
    ...compileBulkStatements(model, selected, scopes),
    create: (row) => prepared.serve(renderCreation({ model, inserting, writeColumns, scopes }, row)),
  })
  const unscoped = within(undefined)
  return (scopes) => (scopes === undefined ? unscoped : within(scopes))
}

interface Created {
  readonly model: ModelSpec
  /** The text of a statement that inserts these columns and values. */
  readonly inserting: (values: string) => string
  readonly writeColumns: WriteColumns
  readonly scopes: Scopes | undefined
}

function renderCreation({ model, inserting, writeColumns, scopes }: Created, given: Row): Rendered {
  const params = parameters()
  const row = filledByScope(model, given, scopes)
  const columns = writeColumns.columnsOf(row)
  const names = columns.map(({ column }) => column).join(', ')
  const places = columns.map(({ field }) => params.add(writeCell(field, row[field.name]))).join(', ')
  const values = columns.length === 0 ? 'default values' : `(${names}) values (${places})`
  const fields = columns.map(({ field }) => field)
  const text = `${inserting(values)}${scopeChecks(model, fields, scopes, params)}`
  return { text, values: params.values, kind: { retry: false, quick: false } }
}
