import { tableSql } from '../../fields/table-name.js'
import type { ModelSpec } from '../../config/spec.js'
import type { Row } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type BulkStatements, compileBulkStatements } from './bulk-statements.js'
import { keyTexts } from './columns.js'
import { type Projection } from './projections.js'
import { compileListStatements, type ListStatements } from './list-statements.js'
import { compileRecordStatements, type RecordStatements } from './record-statements.js'
import { boundChecks, type Bounds, boundProjection, writtenSelect } from './bounds.js'
import { coveredAfter, demand, grantedWrite, writtenSql } from './granted-writes.js'
import { filledByScope } from './scope.js'
import {
  createPreparedStatements,
  createTextCache,
  type Rendered,
  type StatementCounts,
} from './prepared-statements.js'
import { type Parameters, parameters } from './parameters.js'
import { type WriteColumns, writeColumnsOf } from './write-columns.js'

/** Every statement of a resource in one projection. All SQL for records is generated here. */
export interface Statements extends ListStatements, RecordStatements, BulkStatements {
  create(row: Row): Statement
}

interface Projections {
  readonly projection: Projection<unknown, unknown>
  /** The projection of lists. */
  readonly listed?: Projection<unknown, unknown>
}

/** The number of texts that are cached and prepared on each connection. Clients can cause more texts than that. */
const MAX_TEXTS = 200
/** The same for texts of partial reads, which must not evict the others. */
const MAX_PARTIAL_TEXTS = 50

/** Compiles the statements of a model; each call of the result returns them within the given bounds, if any. */
export function compileStatements(
  model: ModelSpec,
  { projection, listed = projection }: Projections,
  counts: StatementCounts = { kept: 0, unkept: 0, generation: 0 },
): (bounds?: Bounds) => Statements {
  const prepared = createPreparedStatements(model.table, counts, MAX_TEXTS)
  const partial = createPreparedStatements(model.table, counts, MAX_PARTIAL_TEXTS)
  const writeColumns = writeColumnsOf(model)
  const parts = { model, projection, prepared, partial, writeColumns }
  const head = `insert into ${tableSql(model.table)} `
  const tailOf = (select: readonly string[]) => ` returning ${[...keyTexts(model), ...select].join(', ')}`
  const tail = tailOf(projection.select)
  const inserting = createTextCache((values) => `${head}${values}${tail}`, MAX_TEXTS)
  const insertingFor =
    (bounds: Bounds | undefined) =>
    (values: string, params: Parameters): string =>
      bounds?.granted
        ? `${head}${values}${tailOf(writtenSelect(model, boundProjection(projection, bounds, params), bounds, params))}`
        : inserting(values)
  const lists = compileListStatements({ ...parts, projection: listed })
  const records = compileRecordStatements(parts)
  const within = (bounds: Bounds | undefined): Statements => ({
    ...lists(bounds),
    ...records(bounds),
    ...compileBulkStatements(model, projection, bounds),
    create: (row) =>
      prepared.serve(renderCreation({ model, inserting: insertingFor(bounds), writeColumns, bounds }, row)),
  })
  const unbounded = within(undefined)
  return (bounds) => (bounds === undefined ? unbounded : within(bounds))
}

interface Created {
  readonly model: ModelSpec
  /** The text of a statement that inserts these columns and values. */
  readonly inserting: (values: string, params: Parameters) => string
  readonly writeColumns: WriteColumns
  readonly bounds: Bounds | undefined
}

function renderCreation({ model, inserting, writeColumns, bounds }: Created, given: Row): Rendered {
  const params = parameters()
  const filled = filledByScope(model, given, bounds?.scopes)
  const granted = bounds?.granted
  const write = granted && grantedWrite(model, 'create', filled, granted)
  const { row, coverings } = write ?? { row: filled, coverings: [] }
  const columns = writeColumns.columnsOf(row)
  const names = columns.map(({ column }) => column).join(', ')
  const places = columns.map(({ field }) => writtenSql(field, row[field.name], params)).join(', ')
  const values = columns.length === 0 ? 'default values' : `(${names}) values (${places})`
  const fields = columns.map(({ field }) => field)
  const sent = write ? fields.filter(({ name }) => write.sent.has(name)) : fields
  const checks = boundChecks(model, fields, bounds, { params, sent })
  const after = granted && coveredAfter(model, coverings, 'create', { ...granted, params })
  const text = `${inserting(values, params)}${checks}${after === undefined ? '' : demand(after)}`
  return { text, values: params.values, kind: { retry: false, quick: false } }
}
