import type { OrderSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { writeCell } from '../../fields/cell.js'
import type { PageStart } from '../../pagination/paginator.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Parameters } from './where.js'

/** From here on an index alone is read for the rows that are passed over. */
const FAR = 1_000

/** Rows that are passed over before a page. */
export function offsetOf({ start }: Pick<ListPlan, 'start'>): number {
  return 'offset' in start ? start.offset : 0
}

/** Whether many rows are passed over before a page. */
export function isFar(plan: Pick<ListPlan, 'start'>): boolean {
  return offsetOf(plan) > FAR
}

/** The order of a list, in which nulls have a place of their own only where the list can have any beside other values. */
export function neededOrder({ order, where }: Pick<ListPlan, 'order' | 'where'>): readonly OrderSpec[] {
  if (order.every(({ nulls }) => nulls === undefined)) return order
  // Other comparisons hold for nulls alone, or for no nulls.
  const compared = new Set(where.filter(({ lookup }) => !lookup.mixesNulls).map(({ field }) => field))
  return order.map((each) => (compared.has(each.field) ? withoutPlace(each) : each))
}

function withoutPlace({ field, descending }: OrderSpec): OrderSpec {
  return { field, descending }
}

/** `table` is named with every column: a bare name would mean what is selected under it, which may be its text. */
export function orderClause(order: readonly OrderSpec[], table: string): string {
  const columns = order.map(({ field, descending, nulls }) => {
    const place = nulls === undefined ? '' : ` nulls ${nulls}`
    return `${table}.${identifier(field.column)}${descending ? ' desc' : ''}${place}`
  })
  return ` order by ${columns.join(', ')}`
}

export function reversed(order: readonly OrderSpec[]): readonly OrderSpec[] {
  return order.map(({ field, descending, nulls }) => ({
    field,
    descending: !descending,
    ...(nulls && { nulls: nulls === 'first' ? ('last' as const) : ('first' as const) }),
  }))
}

function hasNullsFirst({ descending, nulls }: OrderSpec): boolean {
  return nulls === undefined ? descending : nulls === 'first'
}

/**
 * The rows that follow one row in an order, as conditions of which each row meets at most one, and which one index answers
 * from where it starts: joined by `or` it would be read from its beginning.
 */
function afterClauses(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): readonly string[] {
  const [first] = order
  if (!first?.field.nullable) return [afterValue(order, values, params)]
  const column = identifier(first.field.column)
  if (values[0] === null) {
    const others = `${column} is null and ${spelledOut(order, values, params, 1)}`
    return hasNullsFirst(first) ? [others, `${column} is not null`] : [others]
  }
  const beyond = afterValue(order, values, params)
  return hasNullsFirst(first) ? [beyond] : [beyond, `${column} is null`]
}

/**
 * The condition for the rows that follow one row, where both have a value in the first field. If all fields have one direction and only
 * the first is nullable, it is a row comparison, which is one index condition; otherwise every field is compared by itself.
 */
function afterValue(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): string {
  const [first, ...others] = order
  if (!first) return 'false'
  const { descending } = first
  if (others.every(({ field, descending: same }) => same === descending && !field.nullable)) {
    const columns = order.map(({ field }) => identifier(field.column))
    const bounds = order.map(({ field }, index) => params.add(writeCell(field, values[index])))
    return `(${columns.join(', ')}) ${descending ? '<' : '>'} (${bounds.join(', ')})`
  }
  const [column, bound] = [identifier(first.field.column), params.add(writeCell(first.field, values[0]))]
  const [beyond, edge] = descending ? ['<', '<='] : ['>', '>=']
  const all = `(${column} ${beyond} ${bound} or (${column} = ${bound} and ${spelledOut(order, values, params, 1)}))`
  // What an index can start at, said once more by itself: from alternatives PostgreSQL makes no index condition.
  return `${column} ${edge} ${bound} and ${all}`
}

/** The values of the row that a page starts after or before. */
function boundary(start: PageStart): readonly unknown[] {
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
  const bound = values[index] === null ? undefined : params.add(writeCell(head.field, values[index]))
  const beyond = follows(column, bound, head)
  const same = bound === undefined ? `${column} is null` : `${column} = ${bound}`
  return `(${beyond} or (${same} and ${spelledOut(order, values, params, index + 1)}))`
}

function follows(column: string, bound: string | undefined, part: OrderSpec): string {
  const nullsFollow = !hasNullsFirst(part)
  if (bound === undefined) return nullsFollow ? 'false' : `${column} is not null`
  const compared = `${column} ${part.descending ? '<' : '>'} ${bound}`
  return part.field.nullable && nullsFollow ? `${compared} or ${column} is null` : compared
}

/** What a page is cut out of, and how. */
interface Source {
  readonly from: string
  /** Its name. */
  readonly table: string
  readonly key: string
  /** The columns that are used of it. */
  readonly columns: string
  /** The clause for all of its rows. */
  readonly where: string
  /** The order in which the page is cut out. */
  readonly order: readonly OrderSpec[]
  /** The clause for one row more than the page has; empty where it has all. */
  readonly limit: string
}

/** What stands after `from`: the rows of a page and, where it has a size, one row more. */
export function pageRows(plan: ListPlan, source: Source, params: Parameters): string {
  // Distinct values have no key.
  if (!isFar(plan) || plan.distinct) return cutRows(plan, source, params)
  const { table, key, order } = source
  const columns = order.map(({ field }) => identifier(field.column)).join(', ')
  return `${table} where ${key} in (select ${key} from ${cutRows(plan, { ...source, columns }, params)})`
}

function cutRows(plan: ListPlan, source: Source, params: Parameters): string {
  const { from, table, where, order, limit } = source
  const parts = partsOf(plan.start, source, params)
  const [first, ...others] = order
  // Each part has nulls alone, or none, in the first field, so that an index is read as it is.
  const plain = first === undefined || parts.length === 0 ? order : [withoutPlace(first), ...others]
  const rowsOf = (part: string | undefined) =>
    `${from}${part === undefined ? where : `${where === '' ? ' where' : `${where} and`} ${part}`}`
  const passed = offsetOf(plan) > 0 ? params.add(String(offsetOf(plan))) : undefined
  if (parts.length < 2) {
    return `${rowsOf(parts[0])}${orderClause(plain, table)}${limit}${passed === undefined ? '' : ` offset ${passed}`}`
  }
  const windows = windowsOf(plan, { first: rowsOf(parts[0]), limit, passed })
  const selected = parts.map(
    (part, place) =>
      `(select ${source.columns} from ${rowsOf(part)}${orderClause(plain, table)}${windows.parts[place] ?? ''})`,
  )
  return `(${selected.join(' union all ')}) ${table}${orderClause(order, table)}${windows.whole}`
}

/** The conditions of one or two parts that are read one after the other; none where all rows are read in one. */
function partsOf(start: PageStart, { order, limit }: Source, params: Parameters): readonly string[] {
  if (!('offset' in start)) return afterClauses(order, boundary(start), params)
  const [first] = order
  if (first?.nulls === undefined || limit === '') return []
  const column = identifier(first.field.column)
  const parts = [`${column} is null`, `${column} is not null`]
  return first.nulls === 'first' ? parts : parts.toReversed()
}

interface Windows {
  /** The limit and the offset of each of two parts. */
  readonly parts: readonly string[]
  readonly whole: string
}

/**
 * How much of two parts is read, and what is taken of both together. Where few rows are passed over they are read of each part;
 * where many are, the second part starts after what the first one has left of them, so that they are never sorted.
 */
function windowsOf(
  plan: Pick<ListPlan, 'start'>,
  { first, limit, passed }: { readonly first: string; readonly limit: string; readonly passed: string | undefined },
): Windows {
  if (passed === undefined) return { parts: [limit, limit], whole: limit }
  const offset = `${passed}::bigint`
  if (!isFar(plan)) {
    const reach = `${limit} + ${offset}`
    return { parts: [reach, reach], whole: `${limit} offset ${offset}` }
  }
  const before = `(select count(*) from (select 1 from ${first} limit ${offset}) p)`
  return { parts: [`${limit} offset ${offset}`, `${limit} offset ${offset} - ${before}`], whole: limit }
}
