import type { FieldSpec, ModelRelation, ModelSpec } from '../../../config/spec.js'
import { JsonMergePatch } from '../../../fields/spelling/json-text.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableAlias, tableSql } from '../../../fields/table-name.js'
import type { Row } from '../../../resource/plan.js'
import { boundChecks, type Bounds, type Granted, limitedRelations } from './bounds.js'
import {
  anyOf,
  changedSql,
  coveredAfter,
  coveredBefore,
  coversAfter,
  coversAny,
  coversBefore,
  demand,
  type Sending,
  unchangedBy,
} from './covering-sql.js'
import { type GrantedWrite, grantedWrites, type WriteOfAll, waysOfAll } from './granted-writes.js'
import type { Asking } from './rules.js'
import { filledByScope } from './scope.js'
import { limitedTo } from '../merge-patch.js'
import type { Parameters } from '../parameters.js'
import type { WriteColumns } from '../write-columns.js'

/** The new rows of a statement, under a name that no table has. */
export const ADDED = identifier('@added')

/** The ways to create several rows within the bounds of a request; none if no grant can cover all of them. */
export function waysToCreate(
  model: ModelSpec,
  bounds: Bounds | undefined,
  given: readonly Row[],
): readonly WriteOfAll[] {
  const rows = given.map((row) => filledByScope(model, row, bounds?.scopes))
  const granted = bounds?.granted
  if (!granted) return [{ writes: rows.map((row) => ({ row })), coverings: [] }]
  return waysOfAll(rows.map((row) => grantedWrites(model, 'create', row, granted)))
}

/** Additions to the select list of `ADDED` that make a statement fail if the request may not create its rows. */
export function addedChecks(
  model: ModelSpec,
  { writes, coverings }: WriteOfAll,
  bounds: Bounds | undefined,
  params: Parameters,
): string {
  const fields = model.fields.filter(({ name }) => writes.some(({ row }) => Object.hasOwn(row, name)))
  const sent = fields.filter(({ name }) => writes.some((write) => write.sent?.has(name) ?? true))
  const bound = boundChecks(model, fields, bounds, { params, sent, added: (some) => `select ${some} from ${ADDED}` })
  const granted = bounds?.granted
  return granted ? `${bound}${demand(coveredAfter(model, coverings, 'create', { ...granted, params }))}` : bound
}

interface Assigned {
  readonly model: Pick<ModelSpec, 'table'>
  readonly writeColumns: WriteColumns
}

/** The assignments of an update that sets the fields of a row. */
export function assignmentsOf({ model, writeColumns }: Assigned, row: Row, sending: Sending): string {
  const changes = writeColumns
    .columnsOf(row)
    .map(({ field, column }) => `${column} = ${assignedSql(model, field, row, sending)}`)
  return [...changes, ...writeColumns.touched].join(', ')
}

function assignedSql(model: Pick<ModelSpec, 'table'>, field: FieldSpec, row: Row, sending: Sending): string {
  const changed = changedSql(model, field, row, sending)
  const value = row[field.name]
  if (!(value instanceof JsonMergePatch)) return changed
  return limitedTo(field.name, `${tableAlias(model.table)}.${identifier(field.column)}`, changed, value)
}

interface Changing extends Assigned {
  readonly model: ModelSpec
  readonly bounds: Bounds
  readonly granted: Granted
  readonly sending: Sending
  /** The condition for the record. */
  readonly found: string
  /** Whether records can be locked. */
  readonly locks: boolean
  /** The select list of the changed record. */
  readonly returned: () => string
}

interface GrantedChange {
  readonly text: string
  /** Whether the statement locks the record by itself. */
  readonly locks: boolean
}

/** An update that one grant must cover: both the record before it and the record after it. */
export function grantedChangeSql({ row, coverings, sent: own }: GrantedWrite, changing: Changing): GrantedChange {
  const { model, writeColumns, bounds, granted, sending, found, locks, returned } = changing
  const { params } = sending
  const asking = { ...granted, ...sending }
  const set = assignmentsOf(changing, row, sending)
  const written = writeColumns.columnsOf(row).map(({ field }) => field)
  const sent = written.filter(({ name }) => own.has(name))
  const relations = limitedRelations(model, sent, granted)
  const isPaired =
    relations.length > 0 || (coverings.length > 1 && !coverings.every(({ grant }) => coversAny(grant, 'change')))
  const before = isPaired ? coverings.map((each) => coversBefore(model, each, row, asking)) : []
  const covered = isPaired ? anyOf(before) : coveredBefore(model, coverings, row, asking)
  const where = `${found} and ${covered}`
  const table = tableSql(model.table)
  if (!isPaired) {
    const checks = boundChecks(model, written, bounds, { params, sent })
    const after = coveredAfter(model, coverings, 'change', asking)
    const text = `update ${table} set ${set} where ${where} returning ${returned()}${checks}${demand(after)}`
    return { text, locks: false }
  }
  // `returning` knows only the record after the change.
  const marks = before.map((sql, at) => ({ sql, name: grantMark(at) }))
  const held = [...marks, ...keptMarks(model, relations, sent, { row, asking })]
  const each = held.map(markSql)
  // Several records of a view, or of inheriting tables, can have the key: then the same grant must cover all of them.
  const all = held.map(({ name }) => `bool_and(${name}) as ${name}`)
  const lock = locks ? ' for no key update' : ''
  const records = `(select ${each.join(', ')} from ${table} where ${where}${lock}) ${RECORDS}`
  const kept = (relation: ModelRelation) => `${BEFORE}.${relationMark(relations.indexOf(relation))}`
  const checks = boundChecks(model, written, bounds, { params, sent, kept })
  const both = coverings.map((covering, at) => {
    const after = coversAfter(model, covering, 'change', asking)
    return `${BEFORE}.${grantMark(at)} and ${after}`
  })
  const from = `from (select ${all.join(', ')} from ${records}) ${BEFORE}`
  const text = `update ${table} set ${set} ${from} where ${where} returning ${returned()}${checks}${demand(anyOf(both))}`
  return { text, locks }
}

/** A condition that a record meets before a change, as a column for the conditions after it. */
interface Mark {
  readonly name: string
  readonly sql: string
}

export function markSql({ name, sql }: Mark): string {
  return `(${sql}) is true as ${name}`
}

/** The name of the mark that a grant covers the record, by the place of the grant. */
export function grantMark(at: number): string {
  return identifier(`@g${at}`)
}

/** The name of the mark that a change keeps a relation, by the place of the relation. */
export function relationMark(at: number): string {
  return identifier(`@r${at}`)
}

/** The marks that a change keeps relations; `sent` has the fields that the client has sent. */
export function keptMarks(
  model: ModelSpec,
  relations: readonly ModelRelation[],
  sent: readonly FieldSpec[],
  { row, asking }: { readonly row: Row; readonly asking: Asking & Granted & Sending },
): readonly Mark[] {
  return relations.map(({ parts }, at) => {
    const fields = parts.map(({ field }) => field).filter((field) => sent.includes(field))
    return { name: relationMark(at), sql: fields.map((field) => unchangedBy(model, field, row, asking)).join(' and ') }
  })
}

/** The conditions that the record met before a change; no table has this name. */
const BEFORE = identifier('@before')
/** The records before a change, several if one key has several. */
const RECORDS = identifier('@records')
