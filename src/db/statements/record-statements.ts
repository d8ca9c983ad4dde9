import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { JsonMergePatch } from '../../fields/json-text.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Precondition, Row, Scopes, Selection } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type Projection, projectionFor } from './projections.js'
import { mergedInto } from './merge-patch.js'
import { meets } from './preconditions.js'
import { narrowing, scopeChecks, scopeClause } from './scope.js'
import { createTextCache, type PreparedStatements, type Rendered } from './prepared-statements.js'
import { type Parameters, parameters } from './where.js'
import type { WriteColumns } from './write-columns.js'

/** The statements about one existing record; `id` has the written values of its key. */
export interface RecordStatements {
  /** With preconditions, only if the record meets them. */
  retrieve(id: readonly string[], only?: readonly Precondition[]): Statement
  /** Selects the fields that a client requests. */
  look(id: readonly string[], selection: Selection): Statement
  /** Like `retrieve`, and locks the record until the transaction ends. */
  lock(id: readonly string[]): Statement
  update(id: readonly string[], row: Row, only?: readonly Precondition[]): Statement
  destroy(id: readonly string[], only?: readonly Precondition[]): Statement
  /** Deletes a record and returns it. */
  take(id: readonly string[], only?: readonly Precondition[]): Statement
}

interface Recorded {
  readonly model: ModelSpec
  readonly projection: Projection<unknown, unknown>
  readonly prepared: PreparedStatements
  readonly partial: PreparedStatements
  readonly writeColumns: WriteColumns
}

type Kind = Rendered['kind']
const QUICK: Kind = { retry: true, quick: true }
const LOCK: Kind = { retry: true, quick: false, locks: true }
const WRITE: Kind = { retry: false, quick: false }
/** Texts of updates that are remembered. */
const MAX_UPDATES = 200
const ANYWAY: readonly Precondition[] = Object.freeze([])

/** Compiles the statements about one record; each call of the result returns them within some scopes. */
export function compileRecordStatements(recorded: Recorded): (scopes: Scopes | undefined) => RecordStatements {
  const unscoped = recordStatements(recorded, undefined)
  return (scopes) => (scopes === undefined ? unscoped : recordStatements(recorded, scopes))
}

function recordStatements(
  { model, projection, prepared, partial, writeColumns }: Recorded,
  scopes: Scopes | undefined,
): RecordStatements {
  const table = tableSql(model.table)
  const matched = model.key.map(({ column }, at) => `${identifier(column)} = $${at + 1}`).join(' and ')
  const selected = projection.select.join(', ')
  const plain = `select ${selected} from ${table} where ${matched}`
  const updating = (changes: string): string => `update ${table} set ${changes} returning ${selected}`
  const cachedUpdating = createTextCache(updating, MAX_UPDATES)

  /** Selects the record if it meets the preconditions and is in the scope. */
  const found = (only: readonly Precondition[], params: Parameters): string =>
    `${matched}${meets(only, projection.tag, params)}${scopeClause(model.table, scopes, params)}`
  const retrieval = (id: readonly string[], only: readonly Precondition[]): Rendered => {
    const params = parameters(...id)
    const text = `select ${selected} from ${table} where ${found(only, params)}`
    return { text, values: params.values, kind: QUICK }
  }
  const removal = (id: readonly string[], only: readonly Precondition[], returning: string): Rendered => {
    const params = parameters(...id)
    const text = `delete from ${table} where ${found(only, params)}${returning}`
    return { text, values: params.values, kind: WRITE, record: id.join('/') }
  }
  const change = (
    id: readonly string[],
    row: Row,
    only: readonly Precondition[],
    render: typeof updating,
  ): Rendered => {
    const params = parameters(...id)
    const columns = writeColumns.columnsOf(row)
    const changes = columns.map(({ field, column }) => {
      const value = row[field.name]
      if (!(value instanceof JsonMergePatch)) return `${column} = ${params.add(writeCell(field, value))}`
      return `${column} = ${mergedInto(`${tableAlias(model.table)}.${column}`, value, (part) => params.add(part))}`
    })
    const set = [...changes, ...writeColumns.touched].join(', ')
    const fields = columns.map(({ field }) => field)
    const update = render(`${set} where ${found(only, params)}`)
    const text = `${update}${scopeChecks(model, fields, scopes, params)}`
    return { text, values: params.values, kind: WRITE, record: id.join('/') }
  }

  return {
    retrieve: (id, only) =>
      prepared.serve(
        only === undefined && scopes === undefined
          ? { text: plain, values: id, kind: QUICK }
          : retrieval(id, only ?? ANYWAY),
      ),
    look(id, selection) {
      const params = parameters(...id)
      const { select } = projectionFor(projection, selection, narrowing(scopes, params))
      const where = `${matched}${scopeClause(model.table, scopes, params)}`
      const text = `select ${select.join(', ')} from ${table} where ${where}`
      return partial.serve({ text, values: params.values, kind: QUICK })
    },
    lock(id) {
      const { text, values } = retrieval(id, ANYWAY)
      return prepared.serve({ text: `${text} for no key update`, values, kind: LOCK, record: id.join('/') })
    },
    update(id, row, only = ANYWAY) {
      // The SQL depends on the patch, so no other request would reuse it.
      const isPatch = Object.values(row).some((value) => value instanceof JsonMergePatch)
      if (isPatch) return prepared.once(change(id, row, only, updating))
      return prepared.serve(change(id, row, only, cachedUpdating))
    },
    destroy: (id, only = ANYWAY) => prepared.serve(removal(id, only, '')),
    take: (id, only = ANYWAY) => prepared.serve(removal(id, only, ` returning ${selected}`)),
  }
}
