import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { ModelRelation, ModelSpec } from '../../config/spec.js'
import { JsonMergePatch } from '../../fields/json-text.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Precondition, Row, Selection } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import {
  boundChecks,
  type Bounds,
  boundProjection,
  limitedRelations,
  relatedBounds,
  visibleClause,
  writtenSelect,
} from './bounds.js'
import {
  anyOf,
  coveredAfter,
  coveredBefore,
  coversAfter,
  coversAny,
  coversBefore,
  demand,
  grantedWrite,
  unchangedBy,
  unnamedFields,
  writtenSql,
} from './granted-writes.js'
import { type Projection, projectionFor } from './projections.js'
import { mergedInto } from './merge-patch.js'
import { meets } from './preconditions.js'
import { createTextCache, type PreparedStatements, type Rendered } from './prepared-statements.js'
import { type Parameters, parameters } from './parameters.js'
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
  /**
   * Selects whether a grant covers a change of a record that the request may see, or its deletion if there is no row; then for each field that no
   * grant names, whether the change leaves it as it is.
   */
  covers(id: readonly string[], row?: Row): Statement
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

/** Compiles the statements about one record; each call of the result returns them within some bounds. */
export function compileRecordStatements(recorded: Recorded): (bounds: Bounds | undefined) => RecordStatements {
  const unbounded = recordStatements(recorded, undefined)
  return (bounds) => (bounds === undefined ? unbounded : recordStatements(recorded, bounds))
}

function recordStatements(
  { model, projection, prepared, partial, writeColumns }: Recorded,
  bounds: Bounds | undefined,
): RecordStatements {
  const granted = bounds?.granted
  const table = tableSql(model.table)
  const alias = tableAlias(model.table)
  const matched = model.key.map(({ column }, at) => `${identifier(column)} = $${at + 1}`).join(' and ')
  const unbound = projection.select.join(', ')
  const plain = `select ${unbound} from ${table} where ${matched}`
  const boundTo = (params: Parameters) => boundProjection(projection, bounds, params)
  const selectedBy = (params: Parameters) => (bounds === undefined ? unbound : boundTo(params).select.join(', '))
  const returnedBy = (params: Parameters) => writtenSelect(model, boundTo(params), bounds, params).join(', ')
  const updating = (changes: string): string => `update ${table} set ${changes} returning ${unbound}`
  const cachedUpdating = createTextCache(updating, MAX_UPDATES)

  /** Selects the record if it meets the preconditions and the request may see it. */
  const found = (only: readonly Precondition[], params: Parameters): string =>
    `${matched}${meets(only, () => boundTo(params).tag, params)}${visibleClause(model, bounds, params)}`
  const retrieval = (id: readonly string[], only: readonly Precondition[]): Rendered => {
    const params = parameters(...id)
    const text = `select ${selectedBy(params)} from ${table} where ${found(only, params)}`
    return { text, values: params.values, kind: QUICK }
  }
  const destroyable = (params: Parameters): string => {
    if (!granted) return 'true'
    const coverings = granted.access.destroy.map((grant) => ({ grant, unchanged: [] }))
    return coveredBefore(model, coverings, {}, { ...granted, params })
  }
  const removal = (id: readonly string[], only: readonly Precondition[], isReturned: boolean): Rendered => {
    const params = parameters(...id)
    const where = `${found(only, params)}${granted ? ` and ${destroyable(params)}` : ''}`
    const text = `delete from ${table} where ${where}${isReturned ? ` returning ${returnedBy(params)}` : ''}`
    return { text, values: params.values, kind: WRITE, record: id.join('/') }
  }
  const assignments = (row: Row, params: Parameters): string => {
    const changes = writeColumns.columnsOf(row).map(({ field, column }) => {
      const value = row[field.name]
      if (!(value instanceof JsonMergePatch)) return `${column} = ${writtenSql(field, value, params)}`
      return `${column} = ${mergedInto(`${alias}.${column}`, value, (part) => params.add(part))}`
    })
    return [...changes, ...writeColumns.touched].join(', ')
  }
  const fieldsOf = (row: Row) => writeColumns.columnsOf(row).map(({ field }) => field)
  const change = (
    id: readonly string[],
    row: Row,
    only: readonly Precondition[],
    render: typeof updating,
  ): Rendered => {
    const params = parameters(...id)
    const set = assignments(row, params)
    const update = render(`${set} where ${found(only, params)}`)
    const text = `${update}${boundChecks(model, fieldsOf(row), bounds, { params })}`
    return { text, values: params.values, kind: WRITE, record: id.join('/') }
  }
  /** A change that one grant must cover: both the record before it and the record after it. */
  const grantedChange = (id: readonly string[], given: Row, only: readonly Precondition[]): Rendered => {
    if (!bounds || !granted) throw new Error('a change without a caller needs no grant')
    const { row, coverings, sent: own } = grantedWrite(model, 'change', given, granted)
    const params = parameters(...id)
    const asking = { ...granted, params }
    const set = assignments(row, params)
    const written = fieldsOf(row)
    const sent = written.filter(({ name }) => own.has(name))
    const relations = limitedRelations(model, sent, granted)
    const isPaired =
      relations.length > 0 || (coverings.length > 1 && !coverings.every(({ grant }) => coversAny(grant, 'change')))
    const before = isPaired ? coverings.map((each) => coversBefore(model, each, row, asking)) : []
    const covered = isPaired ? anyOf(before) : coveredBefore(model, coverings, row, asking)
    const where = `${found(only, params)} and ${covered}`
    const kept = (relation: ModelRelation) => `${BEFORE}.${identifier(`@r${relations.indexOf(relation)}`)}`
    const checks = boundChecks(model, written, bounds, { params, sent, ...(isPaired && { kept }) })
    const returning = `${returnedBy(params)}${checks}`
    if (!isPaired) {
      const after = coveredAfter(model, coverings, 'change', asking)
      const text = `update ${table} set ${set} where ${where} returning ${returning}${demand(after)}`
      return { text, values: params.values, kind: WRITE, record: id.join('/') }
    }
    // `returning` knows only the record after the change.
    const keys = model.key.map(({ column }, at) => `${alias}.${identifier(column)} as ${identifier(`@k${at}`)}`)
    const marks = before.map((each, at) => `${each} as ${identifier(`@g${at}`)}`)
    const keeps = relations.map(({ parts }, at) => {
      const same = parts
        .filter(({ field }) => sent.includes(field))
        .map(({ field }) => unchangedBy(model, field, row[field.name], params))
      return `${same.join(' and ')} as ${identifier(`@r${at}`)}`
    })
    const old = `(select ${[...keys, ...marks, ...keeps].join(', ')} from ${table} where ${where} for no key update) ${BEFORE}`
    const same = model.key.map(
      ({ column }, at) => `${alias}.${identifier(column)} = ${BEFORE}.${identifier(`@k${at}`)}`,
    )
    const both = coverings.map((each, at) => {
      const after = coversAfter(model, each, 'change', asking)
      return `${BEFORE}.${identifier(`@g${at}`)} and ${after}`
    })
    const text = `update ${table} set ${set} from ${old} where ${same.join(' and ')} returning ${returning}${demand(anyOf(both))}`
    return { text, values: params.values, kind: WRITE, record: id.join('/') }
  }

  return {
    retrieve: (id, only) =>
      prepared.serve(
        only === undefined && bounds === undefined
          ? { text: plain, values: id, kind: QUICK }
          : retrieval(id, only ?? ANYWAY),
      ),
    look(id, selection) {
      const params = parameters(...id)
      const { select } = projectionFor(boundTo(params), selection, relatedBounds(bounds, params))
      const where = `${matched}${visibleClause(model, bounds, params)}`
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
      if (granted) {
        const rendered = grantedChange(id, row, only)
        return isPatch ? prepared.once(rendered) : prepared.serve(rendered)
      }
      if (isPatch) return prepared.once(change(id, row, only, updating))
      return prepared.serve(change(id, row, only, cachedUpdating))
    },
    destroy: (id, only = ANYWAY) => prepared.serve(removal(id, only, false)),
    take: (id, only = ANYWAY) => prepared.serve(removal(id, only, true)),
    covers(id, given) {
      const params = parameters(...id)
      const covered = () => {
        if (!granted || given === undefined) return destroyable(params)
        const { row, coverings } = grantedWrite(model, 'change', given, granted)
        return coveredBefore(model, coverings, row, { ...granted, params })
      }
      const unnamed = granted && given ? unnamedFields(model, given, granted) : []
      const same = unnamed.map((field) => unchangedBy(model, field, given?.[field.name], params))
      const checks = [covered(), ...same].map((each) => `(${each})::text`)
      const text = `select ${checks.join(', ')} from ${table} where ${found(ANYWAY, params)}`
      return prepared.serve({ text, values: params.values, kind: QUICK })
    },
  }
}

/** The record before a change, under a name that no table has. */
const BEFORE = identifier('@before')
