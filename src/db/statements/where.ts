import type { OrderSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Search } from '../../features/search.js'
import type { Condition, ListPlan } from '../../resource/plan.js'
import { escapePattern } from '../../lookups/sql.js'
import { cellColumn } from './projections.js'

/** The values of one statement, in the order in which its text names them. */
export interface Parameters {
  /** Takes a value, and returns its place in the text. */
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

/** All rows of a list. */
export interface ListSource {
  /** What stands after `from`; it has the name of the table. */
  readonly from: string
  readonly where: string
}

/** Distinct values are rows of their own, of which nothing else is asked. */
export function listSource(plan: ListPlan, table: string, params: Parameters): ListSource {
  const where = whereClause(plan, params)
  if (plan.distinct === undefined) return { from: table, where }
  return { from: `(select distinct ${identifier(plan.distinct.column)} from ${table}${where}) ${table}`, where: '' }
}

/** The SQL of one comparison. `owner` names the table of the column where a statement has several. */
export function compare({ field, lookup, value }: Condition, params: Parameters, owner?: string): string {
  const column = owner === undefined ? identifier(field.column) : `${owner}.${identifier(field.column)}`
  return lookup.sql(column, { field, value, bind: (cell) => params.add(cell(value)) })
}

/** A condition for each word: that it stands in one of the fields. */
function wordClauses({ fields, words }: Search, params: Parameters): readonly string[] {
  return words.map((word) => {
    const parameter = params.add(`%${escapePattern(word)}%`)
    return `(${fields.map(({ column }) => `${identifier(column)} ilike ${parameter}`).join(' or ')})`
  })
}

/** The order's values as cells, for cursors. */
export function keyColumns(order: readonly OrderSpec[]): readonly string[] {
  return order.map(({ field }) => cellColumn(field))
}
