import type { FieldSpec, ModelSpec } from '../../../config/spec.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableAlias, tableSql } from '../../../fields/table-name.js'
import type { Row } from '../../../resource/plan.js'
import type { Statement } from '../../database.js'
import { comparedColumn } from '../../../fields/compared-column.js'
import { type Parameters, parameters } from '../parameters.js'
import { boundChecks, type Bounds, type Granted, limitedRelations, visibleClause } from './bounds.js'
import {
  anyOf,
  changedSql,
  coversAfter,
  coversAny,
  coversBefore,
  demand,
  type Sending,
  unchangedBy,
  writtenSql,
} from './covering-sql.js'
import { ADDED, addedChecks, grantMark, keptMarks, markSql, relationMark, waysToCreate } from './granted-changes.js'
import { type GrantedWrite, grantedWrites, type WriteOfAll } from './granted-writes.js'

/**
 * Statements that fail like a write if the request may not make it, and that write nothing. PostgreSQL checks constraints and runs triggers before it
 * evaluates `returning`, which has the conditions of grants and scopes, so their errors would tell which values hidden records have. There is one statement for
 * each way to write the rows; undefined for a way that has no condition.
 */
export interface Rehearsals {
  /** A value that only the database knows counts as null, for which a condition does not hold. */
  rehearseCreate(bounds: Bounds, rows: readonly Row[]): readonly (Statement | undefined)[]
  rehearseUpdate(bounds: Bounds, id: readonly string[], row: Row): readonly (Statement | undefined)[]
}

/** One row without columns. */
const NOTHING = identifier('@nothing')

/** @param isDocument whether rows have the values of documents */
export function compileRehearsals(model: ModelSpec, isDocument: boolean): Rehearsals {
  const table = tableSql(model.table)
  const alias = tableAlias(model.table)
  const stored = (field: FieldSpec) => `${alias}.${identifier(field.column)}`
  /**
   * The columns of a row that conditions name, with the new values of some fields, which get the types of the columns. The database user may lack the
   * privilege to read other columns.
   */
  const columns = (conditions: string, valueOf: (field: FieldSpec) => string | undefined): readonly string[] => [
    'true',
    ...model.fields
      .filter(({ column }) => conditions.includes(identifier(column)))
      .map((field) => {
        const value = valueOf(field)
        const column = stored(field)
        return `${value === undefined ? column : `case when true then ${value} else ${column} end`} as ${identifier(field.column)}`
      }),
  ]
  const render = (textOf: (params: Parameters) => string | undefined, id: readonly string[] = []) => {
    const params = parameters(...id)
    const text = textOf(params)
    return text === undefined
      ? undefined
      : { text, values: params.values, resource: model.table, retry: true, follows: true }
  }
  const matched = model.key.map((field, at) => `${comparedColumn(field)} = $${at + 1}`).join(' and ')
  const among = (fields: readonly FieldSpec[], row: Row) => fields.filter(({ name }) => Object.hasOwn(row, name))

  const creation = (bounds: Bounds, way: WriteOfAll) => (params: Parameters) => {
    const demanded = addedChecks(model, way, bounds, params)
    if (demanded === '') return undefined
    const rows = way.writes.map(({ row }) => {
      const made = columns(demanded, (field) =>
        Object.hasOwn(row, field.name) ? writtenSql(field, row, params) : standardSql(field, params),
      )
      return `select ${made.join(', ')} from (select) ${NOTHING} left join ${table} on false`
    })
    return `with ${ADDED} as (${rows.join(' union all ')}) select true${demanded} from ${ADDED} ${alias}`
  }

  const change = (bounds: Bounds, row: Row, write: GrantedWrite | undefined) => (params: Parameters) => {
    const { granted } = bounds
    const sending: Sending = { params, isDocument }
    const written = among(model.fields, row)
    const sent = write ? written.filter(({ name }) => write.sent.has(name)) : written
    const relations = granted ? limitedRelations(model, sent, granted) : []
    const checks = boundChecks(model, written, bounds, {
      params,
      sent,
      kept: (relation) => relationMark(relations.indexOf(relation)),
    })
    const isLimited = write && !write.coverings.every(({ grant }) => coversAny(grant, 'change'))
    const covering = isLimited && granted ? coverage(model, write, { ...granted, ...sending }) : undefined
    const demanded = `${checks}${covering ? demand(covering.after) : ''}`
    if (demanded === '') return undefined
    const keeps = granted ? keptMarks(model, relations, sent, { row, asking: { ...granted, ...sending } }) : []
    const unchanged = (limits: Granted) =>
      written.map((field) => unchangedBy(model, field, row, { ...limits, ...sending })).join(' and ')
    const changed = columns(demanded, (field) => {
      if (Object.hasOwn(row, field.name)) return changedSql(model, field, row, sending)
      if (field.auto === 'on_update') return 'now()'
      if (!isComputed(model, field)) return undefined
      return granted ? `case when ${unchanged(granted)} then ${stored(field)} end` : 'null'
    })
    const selected = [...changed, ...[...(covering?.before ?? []), ...keeps].map(markSql)].join(', ')
    const found = `${matched}${visibleClause(model, bounds, params)}`
    return `select true${demanded} from (select ${selected} from ${table} where ${found}) ${alias}`
  }

  return {
    rehearseCreate(bounds, given) {
      return waysToCreate(model, bounds, given).map((way) => render(creation(bounds, way)))
    },
    rehearseUpdate(bounds, id, row) {
      const { granted } = bounds
      const writes = granted ? grantedWrites(model, 'change', row, granted) : [undefined]
      return writes.map((write) => render(change(bounds, write?.row ?? row, write), id))
    },
  }
}

/** The columns that say which grants cover a record before a change, and the condition that one of them also covers it after the change. */
function coverage(model: ModelSpec, { row, coverings }: GrantedWrite, asking: Granted & Sending) {
  return {
    before: coverings.map((each, at) => ({ name: grantMark(at), sql: coversBefore(model, each, row, asking) })),
    after: anyOf(coverings.map((each, at) => `${grantMark(at)} and ${coversAfter(model, each, 'change', asking)}`)),
  }
}

/** Whether the database computes a field from others: for a view, its query may do so. */
function isComputed({ view }: ModelSpec, { generated, readOnly, primaryKey }: FieldSpec): boolean {
  return generated || (view !== undefined && readOnly && !primaryKey)
}

/** The value that a new record gets for a field that its row leaves out; undefined if only the database knows it. */
function standardSql(field: FieldSpec, params: Parameters): string | undefined {
  const { default: standard, auto, type, options } = field
  if (auto !== undefined) return 'now()'
  if (standard === undefined || !('literal' in standard) || standard.literal === null) return undefined
  const value = type.fromJson(standard.literal, JSON.stringify(standard.literal), options)
  return params.addWritten(field, { [field.name]: value })
}
