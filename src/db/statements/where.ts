import type { OrderSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Search } from '../../features/search.js'
import type { Condition, ListPlan } from '../../resource/plan.js'
import { escapePattern } from '../../lookups/sql.js'
import { cellColumn } from './forms.js'

/** Numbers the parameters of one statement; each knows how its value is read from the plan that the statement serves. */
export interface Parameters {
  add(read: (plan: ListPlan) => Cell): string
  readonly readers: readonly ((plan: ListPlan) => Cell)[]
}

export function parameters(): Parameters {
  const readers: ((plan: ListPlan) => Cell)[] = []
  return { readers, add: (read) => `$${readers.push(read)}` }
}

function whereClause({ where, search }: ListPlan, params: Parameters): string {
  const compared = where.map((condition, index) => compare(condition, index, params))
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

function compare({ field, lookup, value }: Condition, index: number, params: Parameters): string {
  const bind = (cell: (value: unknown) => Cell) => params.add(({ where }) => cell(where[index]?.value))
  return lookup.sql(identifier(field.column), { field, value, bind })
}

/** A condition for each word: that it stands in one of the fields. */
function wordClauses({ fields, words }: Search, params: Parameters): readonly string[] {
  return words.map((_, index) => {
    const parameter = params.add(({ search }) => `%${escapePattern(search?.words[index] ?? '')}%`)
    return `(${fields.map(({ column }) => `${identifier(column)} ilike ${parameter}`).join(' or ')})`
  })
}

/** The order's values as cells, for cursors. */
export function keyColumns(order: readonly OrderSpec[]): readonly string[] {
  return order.map(({ field }) => cellColumn(field))
}
