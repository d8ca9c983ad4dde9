import { tableSql } from '../../fields/table-name.js'
import type { FilledField } from '../../config/default-sql.js'
import type { ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { remember } from '../../foundation/remember.js'
import { visibleRule } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type BulkStatements, compileBulkStatements } from './bulk-statements.js'
import { keyTexts } from './columns.js'
import { type Projection } from './projections.js'
import { compileListStatements, type ListStatements } from './lists/list-statements.js'
import { compileRecordStatements, type RecordStatements } from './record-statements.js'
import { boundChecks, type Bounds, boundProjection, type Granted, writtenSelect } from './rules/bounds.js'
import { coveredAfter, demand, writtenSql } from './rules/covering-sql.js'
import { type GrantedWrite, grantedWrites } from './rules/granted-writes.js'
import { filledByScope } from './rules/scope.js'
import { compileRehearsals, type Rehearsals } from './rules/rehearsals.js'
import { createPreparedStatements, type Rendered, type StatementCounts } from './prepared-statements.js'
import type { Parameters } from './parameters.js'
import { createOpenTemplates, createWriteTemplates, onlyCaller, renderedAlone } from './templates.js'
import { type WriteColumns, writeColumnsOf } from './write-columns.js'

/** Every statement of a resource in one projection. All SQL for records is generated here. */
export interface Statements extends ListStatements, RecordStatements, BulkStatements, Rehearsals {
  /**
   * One statement for each way to write the row, see `grantedWrites`.
   * @param filled the fields to fill if the row does not name them; the same array as before, unless they have changed
   */
  create(bounds: Bounds | undefined, row: Row, filled: readonly FilledField[]): readonly Statement[]
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

/** Compiles the statements of a model. */
export function compileStatements(
  model: ModelSpec,
  { projection, listed = projection }: Projections,
  counts: StatementCounts = { kept: 0, unkept: 0, generation: 0 },
): Statements {
  const prepared = createPreparedStatements(model.table, counts, MAX_TEXTS)
  const partial = createPreparedStatements(model.table, counts, MAX_PARTIAL_TEXTS)
  const writeColumns = writeColumnsOf(model)
  const parts = { model, projection, prepared, partial, writeColumns }
  const head = `insert into ${tableSql(model.table)} `
  const tailOf = (select: readonly string[]) => ` returning ${[...keyTexts(model), ...select].join(', ')}`
  const tail = tailOf(projection.select)
  const inserting: Creating['inserting'] = (values, { bounds, write }, params) => {
    if (!bounds?.granted) return `${head}${values}${tail}`
    const bound = boundProjection(projection, bounds, params)
    const isSeen = write !== undefined && seesWritten(bounds.granted, write)
    return `${head}${values}${tailOf(isSeen ? bound.select : writtenSelect(model, bound, bounds, params))}`
  }
  const creation = compileCreation({ model, inserting, writeColumns })
  return {
    ...compileListStatements({ ...parts, projection: listed }),
    ...compileRecordStatements(parts),
    ...compileBulkStatements(model, projection),
    ...compileRehearsals(model, projection.tag !== undefined),
    create: (bounds, row, filled) => creation(bounds, row, filled).map(prepared.serve),
  }
}

interface Creating {
  readonly model: ModelSpec
  /** The text of a statement that inserts these columns and values. */
  readonly inserting: (values: string, created: Created, params: Parameters) => string
  readonly writeColumns: WriteColumns
}

const CREATION = { retry: false, quick: false } as const

function compileCreation(
  creating: Creating,
): (bounds: Bounds | undefined, row: Row, filled: readonly FilledField[]) => readonly Rendered[] {
  const { model } = creating
  const templatesWith = remember((_filled: readonly FilledField[]) => ({
    granted: createWriteTemplates(MAX_TEXTS),
    open: createOpenTemplates(MAX_TEXTS),
  }))
  return (bounds, given, filled) => {
    const scoped = filledByScope(model, given, bounds?.scopes)
    const rendering = (row: Row, write?: GrantedWrite) => (params: Parameters) => ({
      text: creationSql(creating, { bounds, row, write, filled }, params),
      kind: CREATION,
    })
    const granted = bounds?.granted
    const templates = templatesWith(filled)
    if (!bounds) return [templates.open(scoped, [], rendering(scoped))]
    if (!granted) return [renderedAlone(rendering(scoped))]
    const caller = onlyCaller(bounds)
    return grantedWrites(model, 'create', scoped, granted).map((write) => {
      const render = rendering(write.row, write)
      return caller ? templates.granted(write)({ caller, row: write.row }, render) : renderedAlone(render)
    })
  }
}

/** Whether the rule that a new record must meet is the one by which its creator sees it. */
function seesWritten({ access }: Granted, { coverings: [covering, ...others] }: GrantedWrite): boolean {
  const seen = visibleRule(access.retrieve)
  const rows = covering?.grant.rows
  if (others.length > 0 || seen === undefined || seen.length !== rows?.length) return false
  return seen.every((all, at) => all === rows[at])
}

interface Created {
  readonly bounds: Bounds | undefined
  readonly row: Row
  /** Undefined if grants do not limit the caller. */
  readonly write: GrantedWrite | undefined
  readonly filled: readonly FilledField[]
}

function creationSql({ model, inserting, writeColumns }: Creating, created: Created, params: Parameters): string {
  const { bounds, row, write } = created
  const columns = writeColumns.columnsOf(row)
  const filled = created.filled.filter(({ field }) => !Object.hasOwn(row, field.name))
  const names = [...columns.map(({ column }) => column), ...filled.map(({ field }) => identifier(field.column))]
  const places = [...columns.map(({ field }) => writtenSql(field, row, params)), ...filled.map(({ sql }) => sql)]
  const values = names.length === 0 ? 'default values' : `(${names.join(', ')}) values (${places.join(', ')})`
  const fields = columns.map(({ field }) => field)
  const sent = write ? fields.filter(({ name }) => write.sent.has(name)) : fields
  const checks = boundChecks(model, fields, bounds, { params, sent, added: (names) => `select ${names}` })
  const granted = bounds?.granted
  const after = granted && write && coveredAfter(model, write.coverings, 'create', { ...granted, params })
  return `${inserting(values, created, params)}${checks}${after === undefined ? '' : demand(after)}`
}
