import type { ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type BulkStatements, compileBulkStatements } from './bulk-statements.js'
import type { Form } from './projections.js'
import { compileListStatements, type ListStatements } from './list-statements.js'
import { compileRecordStatements, type RecordStatements } from './record-statements.js'
import { filledByScope, scopeChecks } from './scope.js'
import { createShapes, type Rendered, type StatementCounts } from './prepared-statements.js'
import { parameters } from './where.js'
import { type Written, writtenOf } from './write-columns.js'

/** Every statement that a resource in one form needs. The one place where SQL for records is made. */
export interface Statements extends ListStatements, RecordStatements, BulkStatements {
  create(row: Row): Statement
}

/** Shapes that are kept, and prepared statements that each connection is asked to keep. A client can ask in more shapes than that. */
const MOST_SHAPES = 200
/** The same of shapes in which a client asks for a part of records, which must not take the places of the others. */
const MOST_SELECTING = 50

/** Compiles the statements of a model; each call of the result gives them for rows within some scopes, or for all rows. */
export function compileStatements(
  model: ModelSpec,
  form: Form<unknown, unknown>,
  counts: StatementCounts = { kept: 0, unkept: 0, generation: 0 },
): (scopes?: Scopes) => Statements {
  const shapes = createShapes(model.table, counts, MOST_SHAPES)
  const selecting = createShapes(model.table, counts, MOST_SELECTING)
  const selected = form.select.join(', ')
  const written = writtenOf(model)
  const parts = { model, form, shapes, selecting, written }
  const lists = compileListStatements(parts)
  const records = compileRecordStatements(parts)
  const within = (scopes: Scopes | undefined): Statements => ({
    ...lists(scopes),
    ...records(scopes),
    ...compileBulkStatements(model, selected, scopes),
    create: (row) => shapes.serve(renderCreation({ model, selected, written, scopes }, row)),
  })
  const unscoped = within(undefined)
  return (scopes) => (scopes === undefined ? unscoped : within(scopes))
}

interface Created {
  readonly model: ModelSpec
  readonly selected: string
  readonly written: Written
  readonly scopes: Scopes | undefined
}

function renderCreation({ model, selected, written, scopes }: Created, given: Row): Rendered {
  const params = parameters()
  const row = filledByScope(model, given, scopes)
  const fields = written.fieldsOf(row)
  const names = fields.map((field) => identifier(field.column)).join(', ')
  const places = fields.map((field) => params.add(writeCell(field, row[field.name]))).join(', ')
  const values = fields.length === 0 ? 'default values' : `(${names}) values (${places})`
  const returning = `${identifier(model.primaryKey.column)}::text, ${selected}${scopeChecks(model, fields, scopes, params)}`
  const text = `insert into ${identifier(model.table)} ${values} returning ${returning}`
  return { text, values: params.values, kind: { retry: false, quick: false } }
}
