import { tableSql } from '../../fields/table-name.js'
import { type GrantSpec, isOwnTable, type ModelSpec } from '../../config/spec.js'
import { remember } from '../../foundation/remember.js'
import type { Precondition, Row, Selection } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import {
  boundChecks,
  type Bounds,
  boundProjection,
  type Granted,
  relatedBounds,
  visibleClause,
  writtenSelect,
} from './rules/bounds.js'
import { assignmentsOf, grantedChangeSql } from './rules/granted-changes.js'
import { coveredBefore, coversStored, unchangedBy } from './rules/covering-sql.js'
import { grantedWrites, unnamedFields } from './rules/granted-writes.js'
import { comparedColumn } from '../../fields/compared-column.js'
import { type Projection, projectionFor } from './projections.js'
import { ofRecord, type PreparedStatements, type Rendered } from './prepared-statements.js'
import { hasPatch } from './merge-patch.js'
import { type Parameters, parameters } from './parameters.js'
import { createOpenTemplates, createTemplates, createWriteTemplates, onlyCaller, renderedAlone } from './templates.js'
import type { WriteColumns } from './write-columns.js'
import { arrayLiteral, type Cell } from '../../fields/cell.js'

/** The statements about one existing record; `id` has the written values of its key. */
export interface RecordStatements {
  /** With preconditions, only if the record meets them. */
  retrieve(bounds: Bounds | undefined, id: readonly string[], only?: readonly Precondition[]): Statement
  /** Selects the fields that a client requests. */
  look(bounds: Bounds | undefined, id: readonly string[], selection: Selection): Statement
  /** Like `retrieve`, and locks the record until the transaction ends. */
  lock(bounds: Bounds | undefined, id: readonly string[], only?: readonly Precondition[]): Statement
  /** One statement for each way to write the row, see `grantedWrites`. */
  update(bounds: Bounds | undefined, id: readonly string[], row: Row, how?: Updating): readonly Statement[]
  destroy(bounds: Bounds | undefined, id: readonly string[], only?: readonly Precondition[]): Statement
  /**
   * Selects whether a grant covers a change of a record that the request may see, or its deletion if there is no row; then for each field that no
   * grant names, whether the change leaves it as it is.
   */
  covers(bounds: Bounds | undefined, id: readonly string[], row?: Row): Statement
  /** Selects for each of some grants whether it covers every record with a key: a view, or a table with heirs, can have several. Null without a record. */
  covering(granted: Granted, id: readonly string[], grants: readonly GrantSpec[]): Statement
  /** Deletes a record and returns it. */
  take(bounds: Bounds | undefined, id: readonly string[], only?: readonly Precondition[]): Statement
}

export interface Updating {
  readonly only?: readonly Precondition[] | undefined
  /** Whether a statement that first reads the record locks it; true by default. */
  readonly locks?: boolean | undefined
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
const LOCKING_WRITE: Kind = { ...WRITE, locks: true }
/** Texts of updates that are remembered. */
const MAX_UPDATES = 200
const ANYWAY: readonly Precondition[] = Object.freeze([])

/** Compiles the statements about one record. */
export function compileRecordStatements(recorded: Recorded): RecordStatements {
  const sql = recordSql(recorded)
  return {
    ...compileReads(recorded, sql),
    ...compileUpdate(recorded, sql),
    ...compileRemovals(recorded, sql),
    ...compileCoverage(recorded, sql),
  }
}

/** The SQL that statements about one record share. The values of its key are the first parameters. */
interface RecordSql {
  readonly table: string
  /** Whether records are sent and returned as documents. */
  readonly isDocument: boolean
  /** Whether a row is the record. */
  readonly matched: string
  /** The result columns without bounds. */
  readonly unbound: string
  boundTo(bounds: Bounds | undefined, params: Parameters): Projection<unknown, unknown>
  /** The result columns of a write. */
  returnedBy(bounds: Bounds | undefined, params: Parameters): string
  /** Whether a row is the record, meets the preconditions, and the request may see it. */
  found(bounds: Bounds | undefined, only: readonly Precondition[], params: Parameters): string
  /** Whether a grant covers the deletion of the record. */
  destroyable(granted: Granted, params: Parameters): string
}

function recordSql({ model, projection }: Recorded): RecordSql {
  const matched = model.key.map((field, at) => `${comparedColumn(field)} = $${at + 1}`).join(' and ')
  const boundTo = (bounds: Bounds | undefined, params: Parameters) => boundProjection(projection, bounds, params)
  return {
    table: tableSql(model.table),
    // Rows, which have no tag, are for code.
    isDocument: projection.tag !== undefined,
    matched,
    unbound: projection.select.join(', '),
    boundTo,
    returnedBy: (bounds, params) => writtenSelect(model, boundTo(bounds, params), bounds, params).join(', '),
    found: (bounds, only, params) =>
      `${matched}${meets(only, () => boundTo(bounds, params).tag, params)}${visibleClause(model, bounds, params)}`,
    destroyable: (granted, params) => coversStored(model, granted.access.destroy, { ...granted, params }),
  }
}

/** Renders statements of one kind. Without preconditions, the text serves all callers with the same roles. */
function rendering(kind: Kind): (about: About, textOf: (params: Parameters) => string) => Rendered {
  const templates = createTemplates({ ownsValues: false })
  return ({ bounds, id, only = ANYWAY }, textOf) => {
    const render = (params: Parameters) => ({ text: textOf(params), kind })
    const caller = only.length === 0 ? onlyCaller(bounds) : undefined
    const rendered = caller ? templates({ caller, id }, render) : renderedAlone(render, id)
    return kind === QUICK ? rendered : ofRecord(rendered, id)
  }
}

function compileReads(
  { model, prepared, partial }: Recorded,
  { table, matched, unbound, boundTo, found }: RecordSql,
): Pick<RecordStatements, 'retrieve' | 'look' | 'lock'> {
  const plain = `select ${unbound} from ${table} where ${matched}`
  const retrieval = (bounds: Bounds | undefined, only: readonly Precondition[], params: Parameters): string => {
    const selected = bounds === undefined ? unbound : boundTo(bounds, params).select.join(', ')
    return `select ${selected} from ${table} where ${found(bounds, only, params)}`
  }
  const retrieving = rendering(QUICK)
  const locking = rendering(LOCK)
  const looking = remember((_selection: Selection) => rendering(QUICK))

  return {
    retrieve: (bounds, id, only) =>
      prepared.serve(
        only === undefined && bounds === undefined
          ? { text: plain, values: id, kind: QUICK }
          : retrieving({ bounds, id, only }, (params) => retrieval(bounds, only ?? ANYWAY, params)),
      ),
    look: (bounds, id, selection) =>
      partial.serve(
        looking(selection)({ bounds, id }, (params) => {
          const { select } = projectionFor(boundTo(bounds, params), selection, relatedBounds(bounds, params))
          return `select ${select.join(', ')} from ${table} where ${matched}${visibleClause(model, bounds, params)}`
        }),
      ),
    lock: (bounds, id, only) =>
      prepared.serve(
        locking({ bounds, id, only }, (params) => `${retrieval(bounds, only ?? ANYWAY, params)} for no key update`),
      ),
  }
}

function compileUpdate(
  { model, prepared, writeColumns }: Recorded,
  { table, isDocument, unbound, returnedBy, found }: RecordSql,
): Pick<RecordStatements, 'update'> {
  const change = (bounds: Bounds | undefined, row: Row, only: readonly Precondition[], params: Parameters): string => {
    const set = assignmentsOf({ model, writeColumns }, row, { params, isDocument })
    const fields = writeColumns.columnsOf(row).map(({ field }) => field)
    const changing = `update ${table} set ${set} where ${found(bounds, only, params)}`
    return `${changing} returning ${unbound}${boundChecks(model, fields, bounds, { params })}`
  }
  const opening = createOpenTemplates(MAX_UPDATES)
  const grantedChanging = { locking: createWriteTemplates(MAX_UPDATES), unlocked: createWriteTemplates(MAX_UPDATES) }
  const grantedChanges = (
    { bounds, id, only = ANYWAY, locks = true }: About & Updating & { readonly bounds: Bounds },
    granted: Granted,
    given: Row,
  ): readonly Rendered[] => {
    const caller = only.length === 0 && !hasPatch(given) ? onlyCaller(bounds) : undefined
    return grantedWrites(model, 'change', given, granted).map((write) => {
      const render = (params: Parameters) => {
        const changed = grantedChangeSql(write, {
          model,
          writeColumns,
          bounds,
          granted,
          sending: { params, isDocument },
          found: found(bounds, only, params),
          locks,
          returned: () => returnedBy(bounds, params),
        })
        return { text: changed.text, kind: changed.locks ? LOCKING_WRITE : WRITE }
      }
      const { row } = write
      const templates = locks ? grantedChanging.locking : grantedChanging.unlocked
      const rendered = caller ? templates(write)({ caller, id, row }, render) : renderedAlone(render, id)
      return ofRecord(rendered, id)
    })
  }

  return {
    update(bounds, id, row, { only, locks } = {}) {
      // The SQL depends on the patch, so no other request would reuse it.
      const serve = hasPatch(row) ? prepared.once : prepared.serve
      if (bounds?.granted) return grantedChanges({ bounds, id, only, locks }, bounds.granted, row).map(serve)
      const render = (params: Parameters) => ({ text: change(bounds, row, only ?? ANYWAY, params), kind: WRITE })
      const isOpen = bounds === undefined && only === undefined && serve === prepared.serve
      return [serve(ofRecord(isOpen ? opening(row, id, render) : renderedAlone(render, id), id))]
    },
  }
}

function compileRemovals(
  { model, prepared }: Recorded,
  { table, returnedBy, found, destroyable }: RecordSql,
): Pick<RecordStatements, 'destroy' | 'take'> {
  const removal = ({ bounds, only = ANYWAY }: About, params: Parameters): string => {
    const remove = `delete from ${table} where ${found(bounds, only, params)}`
    if (!bounds?.granted) return remove
    const covered = destroyable(bounds.granted, params)
    if (covered === 'true' || isOwnTable(model)) return `${remove} and ${covered}`
    // Several records of a view, or of inheriting tables, can have the key: then grants must cover all of them.
    const other = `select from ${table} where ${found(bounds, ANYWAY, params)} and (${covered}) is not true`
    return `${remove} and ${covered} and not exists (${other})`
  }
  const [removing, taking] = [rendering(WRITE), rendering(WRITE)]

  return {
    destroy(bounds, id, only) {
      const about = { bounds, id, only }
      return prepared.serve(removing(about, (params) => removal(about, params)))
    },
    take(bounds, id, only) {
      const about = { bounds, id, only }
      const returning = (params: Parameters) => `${removal(about, params)} returning ${returnedBy(bounds, params)}`
      return prepared.serve(taking(about, returning))
    },
  }
}

function compileCoverage(
  { model, prepared }: Recorded,
  { table, isDocument, matched, found, destroyable }: RecordSql,
): Pick<RecordStatements, 'covers' | 'covering'> {
  const coveredFor = (granted: Granted, given: Row | undefined, params: Parameters): string => {
    if (given === undefined) return destroyable(granted, params)
    const coverings = grantedWrites(model, 'change', given, granted).flatMap((write) => write.coverings)
    return coveredBefore(model, coverings, given, { ...granted, params, isDocument })
  }
  const unchangedIn = (granted: Granted, given: Row | undefined, params: Parameters): readonly string[] => {
    const asking = { ...granted, params, isDocument }
    return given ? unnamedFields(model, given, granted).map((field) => unchangedBy(model, field, given, asking)) : []
  }

  return {
    covering(granted, id, grants) {
      const params = parameters(...id)
      const covered = (grant: GrantSpec) => `(${coversStored(model, [grant], { ...granted, params })}) is true`
      const selected = grants.map((each) => `bool_and(${covered(each)})::text`).join(', ')
      const text = `select ${selected} from ${table} where ${matched}`
      return prepared.serve({ text, values: params.values, kind: QUICK })
    },
    covers(bounds, id, given) {
      const granted = bounds?.granted
      const params = parameters(...id)
      const checks = granted ? [coveredFor(granted, given, params), ...unchangedIn(granted, given, params)] : ['true']
      const selected = checks.map((each) => `(${each})::text`).join(', ')
      const text = `select ${selected} from ${table} where ${found(bounds, ANYWAY, params)}`
      return prepared.serve({ text, values: params.values, kind: QUICK })
    },
  }
}

interface About {
  readonly bounds: Bounds | undefined
  readonly id: readonly string[]
  readonly only?: readonly Precondition[] | undefined
}

/**
 * Renders preconditions as more conditions of a `where`. PostgreSQL evaluates them on the row that it changes, after waiting for concurrent changes,
 * so nothing can come between. `tagOf` makes the SQL of the record's entity tag.
 */
export function meets(only: readonly Precondition[], tagOf: () => string | undefined, params: Parameters): string {
  const all = only.map((condition) => {
    const { tags, wanted } = condition
    if (tags === 'any') return wanted ? '' : ' and false'
    const tag = tagOf()
    if (tag === undefined) throw new Error('records in this form have no entity tags')
    const listed = `${tag} = any(${params.add(tagArray(tags))}::bytea[])`
    return wanted ? ` and ${listed}` : ` and not ${listed}`
  })
  return all.join('')
}

function tagArray(tags: readonly string[]): Cell {
  return arrayLiteral(tags.map((digits) => `\\x${digits}`))
}
