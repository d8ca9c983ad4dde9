import type { OrderSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Search } from '../../features/search.js'
import type { Condition, ListPlan } from '../../resource/plan.js'
import { escapePattern } from '../../lookups/sql.js'
import { cellColumn } from './projections.js'

/** The parameters of one statement, in order. */
export interface Parameters {
  /** Adds a value and returns its placeholder. */
  add(value: Cell): string
  readonly values: readonly Cell[]
}

export function parameters(...values: Cell[]): Parameters {
  return { values, add: (value) => `$${values.push(value)}` }
}

function whereClause({ where, search }: Pick<ListPlan, 'where' | 'search'>, params: Parameters): string {
  const compared = where.map((condition) => compare(condition, params))
  const all = search ? [...compared, ...wordClauses(search, params)] : compared
  return all.length === 0 ? '' : ` where ${all.join(' and ')}`
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
export function listSource(plan: ListPlan, { sql, alias }: ListTable, params: Parameters): ListSource {
  const where = whereClause(plan, params)
  if (plan.distinct === undefined) return { from: sql, where }
  return { from: `(select distinct ${identifier(plan.distinct.column)} from ${sql}${where}) ${alias}`, where: '' }
}

/** The SQL of one comparison. `owner` names the column's table if a statement has several. */
export function compare({ field, lookup, value }: Condition, params: Parameters, owner?: string): string {
  const column = owner === undefined ? identifier(field.column) : `${owner}.${identifier(field.column)}`
  return lookup.sql(column, { field, value, bind: (cell) => params.add(cell(value)) })
}

/** A condition for each word: at least one of the fields contains it. */
function wordClauses({ fields, words }: Search, params: Parameters): readonly string[] {
  return words.map((word) => {
    const parameter = params.add(`%${escapePattern(word)}%`)
    return `(${fields.map(({ column }) => `${identifier(column)} ilike ${parameter}`).join(' or ')})`
  })
}

/** The values of the order as cells, for cursors. */
export function keyColumns(order: readonly OrderSpec[]): readonly string[] {
  return order.map(({ field }) => cellColumn(field))
}
