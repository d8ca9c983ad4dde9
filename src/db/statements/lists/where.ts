import type { FieldSpec, OrderSpec } from '../../../config/spec.js'
import type { Cell } from '../../../fields/cell.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableSql } from '../../../fields/table-name.js'
import type { RelatedRecords } from '../../../features/related-filter.js'
import type { Search } from '../../../features/search.js'
import type { Condition, ListPlan } from '../../../resource/plan.js'
import { escapePattern, likeSql } from '../../../lookups/sql.js'
import { type Parameters, parameters } from '../parameters.js'
import type { Narrow } from '../projections.js'
import { comparedColumn } from '../../../fields/compared-column.js'
import { cellColumn, refersSql } from '../columns.js'

/** Limits on the rows of a list, in addition to the request's own conditions. */
export interface ListLimits {
  /** More conditions, each after `and`; empty if there are none. */
  rows(params: Parameters): string
  /** The condition under which a row shows a field; undefined if every row does. Hidden values cannot be compared. */
  shows(field: FieldSpec, params: Parameters): string | undefined
  /** Limits the related records that can be asked about. */
  related(params: Parameters): Narrow | undefined
}

interface Rendering {
  readonly params: Parameters
  /** The name of the table. */
  readonly alias: string
  readonly limits: ListLimits | undefined
}

function whereClause(
  { where, search, distinct }: Pick<ListPlan, 'where' | 'search' | 'distinct'>,
  { params, alias, limits }: Rendering,
): string {
  const narrow = limits?.related(params)
  const shown = (field: FieldSpec, condition: string) => {
    const shows = limits?.shows(field, params)
    return shows === undefined ? condition : `(${condition} and ${shows})`
  }
  const compared = where.map((condition) => {
    const { field, related } = condition
    return related === undefined
      ? shown(field, compare(condition, params))
      : relatedClause(condition, related, { params, narrow, owner: alias, depth: 1 })
  })
  const all = [
    ...compared,
    ...(search ? wordClauses(search, params, shown) : []),
    ...(distinct && limits ? [shown(distinct, 'true')] : []),
  ]
  const rows = limits?.rows(params) ?? ''
  if (all.length === 0) return rows === '' ? '' : ` where true${rows}`
  return ` where ${all.join(' and ')}${rows}`
}

/** The rows of a list. */
export interface ListSource {
  /** The `from` item; its name is the table's. */
  readonly from: string
  readonly where: string
}

/** A table in statements. */
export interface ListTable {
  readonly sql: string
  /** The name by which its columns are qualified. */
  readonly alias: string
}

/** Distinct values are selected in a subquery. */
export function listSource(
  plan: ListPlan,
  { sql, alias }: ListTable,
  params: Parameters,
  limits?: ListLimits,
): ListSource {
  const where = whereClause(plan, { params, alias, limits })
  if (plan.distinct === undefined) return { from: sql, where }
  return { from: `(select distinct ${identifier(plan.distinct.column)} from ${sql}${where}) ${alias}`, where: '' }
}

/** The SQL of one comparison. `owner` names the column's table if a statement has several. */
export function compare({ field, lookup, value }: Condition, params: Parameters, owner?: string): string {
  return lookup.sql(comparedColumn(field, owner), { field, value, bind: (cell) => params.add(cell(value)) })
}

interface Following {
  readonly params: Parameters
  readonly narrow: Narrow | undefined
  /** The table that refers to the record. */
  readonly owner: string
  readonly depth: number
}

/** The condition that there is a related record of which a comparison holds. */
function relatedClause(
  condition: Condition,
  { relation, model, expand: [next], ...related }: RelatedRecords,
  { params, narrow, owner, depth }: Following,
): string {
  // An alias that no table can have; a model may be related to itself.
  const alias = identifier(`@filter${depth}`)
  const holds = next
    ? relatedClause(condition, next, { params, narrow, owner: alias, depth: depth + 1 })
    : compare(condition, params, alias)
  const visible = narrow?.({ model, rows: related.rows }, alias) ?? ''
  return `exists (select from ${tableSql(model.table)} ${alias} where ${refersSql(relation, owner, alias)} and ${holds}${visible})`
}

/** The filters that compare a field with a parameter of their statement. */
export function comparedWith(value: Cell, { where }: Pick<ListPlan, 'where'>): readonly Condition[] {
  return where.filter((condition) => {
    const params = parameters()
    compare(condition, params)
    return params.values.includes(value)
  })
}

/** A condition for each word: at least one of the fields contains it. */
function wordClauses(
  { fields, words }: Search,
  params: Parameters,
  shown: (field: FieldSpec, condition: string) => string,
): readonly string[] {
  return words.map((word) => {
    const pattern = params.add(`%${escapePattern(word)}%`)
    const found = (field: FieldSpec) => likeSql('ilike', { column: identifier(field.column), field, pattern })
    return `(${fields.map((field) => shown(field, found(field))).join(' or ')})`
  })
}

/** The values of the order as cells, for cursors. */
export function keyColumns(order: readonly OrderSpec[]): readonly string[] {
  return order.map(({ field }) => cellColumn(field))
}
