import type { FieldSpec, OrderSpec } from '../../config/spec.js'
import type { Lookup } from '../../fields/field-type.js'
import { identifier } from '../../fields/sql-literal.js'
import { type Cell, writeCell } from '../../fields/cell.js'
import type { Search } from '../../features/search.js'
import type { Condition, ListPlan } from '../../resource/plan.js'
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

type Compare = (column: string, parameter: string) => string

/** The SQL of each lookup that compares with one parameter. */
const COMPARE: Readonly<Record<Exclude<Lookup, 'isnull'>, Compare>> = {
  exact: (column, parameter) => `${column} = ${parameter}`,
  // A record without a value has another one.
  ne: (column, parameter) => `${column} is distinct from ${parameter}`,
  in: (column, parameter) => `${column} = any(${parameter})`,
  gt: (column, parameter) => `${column} > ${parameter}`,
  gte: (column, parameter) => `${column} >= ${parameter}`,
  lt: (column, parameter) => `${column} < ${parameter}`,
  lte: (column, parameter) => `${column} <= ${parameter}`,
  contains: (column, parameter) => `${column} like ${parameter}`,
  icontains: (column, parameter) => `${column} ilike ${parameter}`,
  startswith: (column, parameter) => `${column} like ${parameter}`,
  istartswith: (column, parameter) => `${column} ilike ${parameter}`,
}

/** A lookup's value as PostgreSQL reads it, where that is more than the field's own text form. */
const WRITE: { readonly [name in Lookup]?: (value: unknown, field: FieldSpec) => Cell } = {
  in: (value, field) =>
    arrayLiteral((value as readonly unknown[]).map((item) => field.type.write(item, field.options))),
  contains: (value) => `%${escapePattern(String(value))}%`,
  icontains: (value) => `%${escapePattern(String(value))}%`,
  startswith: (value) => `${escapePattern(String(value))}%`,
  istartswith: (value) => `${escapePattern(String(value))}%`,
}

export function whereClause({ where, search }: ListPlan, params: Parameters): string {
  const compared = where.map((condition, index) => compare(condition, index, params))
  const all = search ? [...compared, ...wordClauses(search, params)] : compared
  return all.length === 0 ? '' : ` where ${all.join(' and ')}`
}

function compare({ field, lookup, value }: Condition, index: number, params: Parameters): string {
  const column = identifier(field.column)
  if (lookup === 'isnull') return `${column} is ${value === true ? 'null' : 'not null'}`
  const write = WRITE[lookup] ?? ((given) => writeCell(field, given))
  const parameter = params.add(({ where }) => write(where[index]?.value, field))
  return COMPARE[lookup](column, parameter)
}

/** A condition for each word: that it stands in one of the fields. */
function wordClauses({ fields, words }: Search, params: Parameters): readonly string[] {
  return words.map((_, index) => {
    const parameter = params.add(({ search }) => `%${escapePattern(search?.words[index] ?? '')}%`)
    return `(${fields.map(({ column }) => COMPARE.icontains(identifier(column), parameter)).join(' or ')})`
  })
}

/** The order's values as cells, for cursors. */
export function keyColumns(order: readonly OrderSpec[]): readonly string[] {
  return order.map(({ field }) => cellColumn(field))
}

/** PostgreSQL's text form of an array. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
