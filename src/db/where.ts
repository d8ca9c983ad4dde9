import type { FieldSpec, OrderSpec } from '../config/spec.js'
import type { Lookup } from '../fields/field-type.js'
import { identifier } from '../fields/sql-literal.js'
import { type Cell, writeCell } from '../fields/cell.js'
import type { PageStart } from '../pagination/paginator.js'
import type { Condition, ListPlan, Search } from '../resource/plan.js'
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

/** `table` is named with every column: a bare name would mean what is selected under it, which may be its text. */
export function orderClause(order: readonly OrderSpec[], table: string): string {
  const columns = order.map(
    ({ field, descending }) => `${table}.${identifier(field.column)}${descending ? ' desc' : ''}`,
  )
  return ` order by ${columns.join(', ')}`
}

export function reversed(order: readonly OrderSpec[]): readonly OrderSpec[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}

/**
 * The rows that follow one row in an order, as conditions of which each row meets at most one, and which one index answers
 * from where it starts: joined by `or` it would be read from its beginning. Nulls come last ascending and first descending,
 * as PostgreSQL has them.
 */
function afterClauses(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): readonly string[] {
  const [first] = order
  if (!first?.field.nullable) return [afterValue(order, values, params)]
  const column = identifier(first.field.column)
  if (values[0] === null) {
    const others = `${column} is null and ${spelledOut(order, values, params, 1)}`
    return first.descending ? [others, `${column} is not null`] : [others]
  }
  const beyond = afterValue(order, values, params)
  return first.descending ? [beyond] : [beyond, `${column} is null`]
}

/**
 * Of the rows with a value in the first field, those that follow one with a value there: a row comparison, which is one index
 * condition, where all fields run one way and none of the others is ever null, else the comparison spelled out.
 */
function afterValue(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): string {
  const [first, ...others] = order
  if (!first) return 'false'
  const { descending } = first
  if (others.every(({ field, descending: same }) => same === descending && !field.nullable)) {
    const columns = order.map(({ field }) => identifier(field.column))
    const bounds = order.map(({ field }, index) => params.add(boundOf(field, index)))
    return `(${columns.join(', ')}) ${descending ? '<' : '>'} (${bounds.join(', ')})`
  }
  const [column, bound] = [identifier(first.field.column), params.add(boundOf(first.field, 0))]
  const [beyond, edge] = descending ? ['<', '<='] : ['>', '>=']
  const all = `(${column} ${beyond} ${bound} or (${column} = ${bound} and ${spelledOut(order, values, params, 1)}))`
  // What an index can start at, said once more by itself: from alternatives PostgreSQL makes no index condition.
  return `${column} ${edge} ${bound} and ${all}`
}

/** Reads the value that a page starts after (before) in one part of its order. */
function boundOf(field: FieldSpec, index: number): (plan: ListPlan) => Cell {
  return ({ start }) => writeCell(field, boundary(start)[index])
}

/** The values of the row that a page starts after or before. */
export function boundary(start: PageStart): readonly unknown[] {
  if ('after' in start) return start.after
  return 'before' in start ? start.before : []
}

function spelledOut(
  order: readonly OrderSpec[],
  values: readonly unknown[],
  params: Parameters,
  index: number,
): string {
  const head = order[index]
  if (!head) return 'false'
  const column = identifier(head.field.column)
  const bound = values[index] === null ? undefined : params.add(boundOf(head.field, index))
  const beyond = follows(column, bound, head.descending, head.field.nullable)
  const same = bound === undefined ? `${column} is null` : `${column} = ${bound}`
  return `(${beyond} or (${same} and ${spelledOut(order, values, params, index + 1)}))`
}

function follows(column: string, bound: string | undefined, descending: boolean, nullable: boolean): string {
  if (bound === undefined) return descending ? `${column} is not null` : 'false'
  const compared = `${column} ${descending ? '<' : '>'} ${bound}`
  return nullable && !descending ? `${compared} or ${column} is null` : compared
}

/** What a page is cut out of: a table, the columns that are used of it, and the clauses for all of its rows. */
interface Source {
  readonly table: string
  readonly columns: string
  readonly where: string
  readonly order: string
  readonly limit: string
}

/** What stands after `from`: the rows of a source from where a plan's page starts. They are still to be ordered and limited. */
export function startedRows({ start, order }: ListPlan, source: Source, params: Parameters): string {
  const { table, columns, where } = source
  if ('offset' in start) return `${table}${where}`
  const clauses = afterClauses('before' in start ? reversed(order) : order, boundary(start), params)
  const [first = '', ...others] = clauses.map((part) => `${table}${where === '' ? ' where' : `${where} and`} ${part}`)
  if (others.length === 0) return first
  const parts = [first, ...others].map((part) => `(select ${columns} from ${part}${source.order}${source.limit})`)
  return `(${parts.join(' union all ')}) ${table}`
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
