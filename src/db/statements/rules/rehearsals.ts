import type { FieldSpec, ModelSpec } from '../../../config/spec.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableAlias, tableSql } from '../../../fields/table-name.js'
import type { Row } from '../../../resource/plan.js'
import type { Statement } from '../../database.js'
import { type WriteOfAll, waysOfAll } from '../bulk-statements.js'
import { comparedColumn } from '../../../fields/compared-column.js'
import { type Parameters, parameters } from '../parameters.js'
import { boundChecks, type Bounds, type Granted, limitedRelations, visibleClause } from './bounds.js'
import {
  anyOf,
  changedSql,
  coveredAfter,
  coversAfter,
  coversAny,
  coversBefore,
  demand,
  type Sending,
  unchangedBy,
  writtenSql,
} from './covering-sql.js'
import { type GrantedWrite, grantedWrites } from './granted-writes.js'
import { filledByScope } from './scope.js'

/**
 * Statements that fail like a write if the request may not make it, and that write nothing. PostgreSQL rejects a duplicate before it evaluates
 * `returning`, which has the conditions of grants and scopes, so the error would tell which values hidden records have. There is one statement for
 * each way to write the rows; undefined for a way that has no condition.
 */
export interface Rehearsals {
  /** A value that only the database knows counts as null, for which a condition does not hold. */
  rehearseCreate(bounds: Bounds, rows: readonly Row[]): readonly (Statement | undefined)[]
  rehearseUpdate(bounds: Bounds, id: readonly string[], row: Row): readonly (Statement | undefined)[]
}

/** The rows of a write, under a name that no table has. */
const ADDED = identifier('@added')
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

  const creation =
    (bounds: Bounds, { writes, coverings }: WriteOfAll) =>
    (params: Parameters) => {
      const { granted } = bounds
      const fields = model.fields.filter(({ name }) => writes.some(({ row }) => Object.hasOwn(row, name)))
      const sent = fields.filter(({ name }) => writes.some((write) => write.sent?.has(name) ?? true))
      const checks = boundChecks(model, fields, bounds, {
        params,
        sent,
        added: (some) => `select ${some} from ${ADDED}`,
      })
      const demanded = `${checks}${granted ? demand(coveredAfter(model, coverings, 'create', { ...granted, params })) : ''}`
      if (demanded === '') return undefined
      const rows = writes.map(({ row }) => {
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
    const kept = (at: number) => identifier(`@r${at}`)
    const checks = boundChecks(model, written, bounds, {
      params,
      sent,
      kept: (relation) => kept(relations.indexOf(relation)),
    })
    const isLimited = write && !write.coverings.every(({ grant }) => coversAny(grant, 'change'))
    const covering = isLimited && granted ? coverage(model, write, { ...granted, ...sending }) : undefined
    const demanded = `${checks}${covering ? demand(covering.after) : ''}`
    if (demanded === '') return undefined
    const keeps = relations.map(({ parts }, at) => {
      const fields = parts.map(({ field }) => field).filter((field) => sent.includes(field))
      const same = fields.map((field) => unchangedBy(model, field, row, { ...(granted as Granted), ...sending }))
      return `(${same.join(' and ')}) is true as ${kept(at)}`
    })
    const changed = columns(demanded, (field) =>
      Object.hasOwn(row, field.name) ? changedSql(model, field, row, sending) : computedSql(field),
    )
    const selected = [...changed, ...(covering?.before ?? []), ...keeps].join(', ')
    const found = `${matched}${visibleClause(model, bounds, params)}`
    return `select true${demanded} from (select ${selected} from ${table} where ${found}) ${alias}`
  }

  return {
    rehearseCreate(bounds, given) {
      const rows = given.map((row) => filledByScope(model, row, bounds.scopes))
      const { granted } = bounds
      const ways = granted
        ? waysOfAll(rows.map((row) => grantedWrites(model, 'create', row, granted)))
        : [{ writes: rows.map((row) => ({ row })), coverings: [] }]
      return ways.map((way) => render(creation(bounds, way)))
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
  const names = coverings.map((_, at) => identifier(`@g${at}`))
  return {
    before: coverings.map((each, at) => `(${coversBefore(model, each, row, asking)}) is true as ${names[at]}`),
    after: anyOf(coverings.map((each, at) => `${names[at]} and ${coversAfter(model, each, 'change', asking)}`)),
  }
}

/** The value that any change gives a field, as far as it is known; undefined if a change of other fields leaves it as it is. */
function computedSql({ auto, generated }: FieldSpec): string | undefined {
  if (generated) return 'null'
  return auto === 'on_update' ? 'now()' : undefined
}

/** The value that a new record gets for a field that its row leaves out; undefined if only the database knows it. */
function standardSql(field: FieldSpec, params: Parameters): string | undefined {
  const { default: standard, auto, type, options } = field
  if (auto !== undefined) return 'now()'
  if (standard === undefined || !('literal' in standard) || standard.literal === null) return undefined
  const value = type.fromJson(standard.literal, JSON.stringify(standard.literal), options)
  return params.addWritten(field, { [field.name]: value })
}
