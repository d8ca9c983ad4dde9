import type { ModelSpec } from '../../../config/spec.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableSql } from '../../../fields/table-name.js'
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
import type { GrantedWrite } from './granted-writes.js'
import type { WriteColumns } from '../write-columns.js'

interface Assigned {
  readonly model: Pick<ModelSpec, 'table'>
  readonly writeColumns: WriteColumns
}

/** The assignments of an update that sets the fields of a row. */
export function assignmentsOf({ model, writeColumns }: Assigned, row: Row, sending: Sending): string {
  const changes = writeColumns
    .columnsOf(row)
    .map(({ field, column }) => `${column} = ${changedSql(model, field, row, sending)}`)
  return [...changes, ...writeColumns.touched].join(', ')
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
  const marks = before.map((sql, at) => ({ sql, name: identifier(`@g${at}`) }))
  const keeps = relations.map(({ parts }, at) => {
    const same = parts
      .filter(({ field }) => sent.includes(field))
      .map(({ field }) => unchangedBy(model, field, row, asking))
    return { sql: same.join(' and '), name: identifier(`@r${at}`) }
  })
  const held = [...marks, ...keeps]
  const each = held.map(({ sql, name }) => `(${sql}) is true as ${name}`)
  // Several records of a view, or of inheriting tables, can have the key: then the same grant must cover all of them.
  const all = held.map(({ name }) => `bool_and(${name}) as ${name}`)
  const lock = locks ? ' for no key update' : ''
  const records = `(select ${each.join(', ')} from ${table} where ${where}${lock}) ${RECORDS}`
  const kept = (relation: (typeof relations)[number]) => `${BEFORE}.${identifier(`@r${relations.indexOf(relation)}`)}`
  const checks = boundChecks(model, written, bounds, { params, sent, kept })
  const both = coverings.map((covering, at) => {
    const after = coversAfter(model, covering, 'change', asking)
    return `${BEFORE}.${identifier(`@g${at}`)} and ${after}`
  })
  const from = `from (select ${all.join(', ')} from ${records}) ${BEFORE}`
  const text = `update ${table} set ${set} ${from} where ${where} returning ${returned()}${checks}${demand(anyOf(both))}`
  return { text, locks }
}

/** The conditions that the record met before a change; no table has this name. */
const BEFORE = identifier('@before')
/** The records before a change, several if one key has several. */
const RECORDS = identifier('@records')
