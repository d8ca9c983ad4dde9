import type { OrderSpec } from '../../../config/spec.js'
import { identifier } from '../../../fields/sql-literal.js'
import { writeCell } from '../../../fields/cell.js'
import type { PageStart } from '../../../pagination/paginator.js'
import type { ListPlan } from '../../../resource/plan.js'
import { comparedColumn } from '../../../fields/compared-column.js'
import { ENFORCED } from '../enforced-key.js'
import type { Parameters } from '../parameters.js'

/** Beyond this offset, skipped rows are read from an index only. */
const FAR = 1_000

/** The number of rows to skip. */
export function offsetOf({ start }: Pick<ListPlan, 'start'>): number {
  return 'offset' in start ? start.offset : 0
}

/** Whether a page skips many rows. */
export function isFar(plan: Pick<ListPlan, 'start'>): boolean {
  return offsetOf(plan) > FAR
}

/** The order of a list. `nulls first` and `nulls last` are dropped where the conditions exclude nulls. */
export function neededOrder({ order, where }: Pick<ListPlan, 'order' | 'where'>): readonly OrderSpec[] {
  if (order.every(({ nulls }) => nulls === undefined)) return order
  // All other lookups match only nulls, or no nulls.
  const compared = new Set(
    where.filter(({ lookup, related }) => related === undefined && !lookup.mixesNulls).map(({ field }) => field),
  )
  return order.map((each) => (compared.has(each.field) ? withoutPlace(each) : each))
}

function withoutPlace({ field, descending }: OrderSpec): OrderSpec {
  return { field, descending }
}

/**
 * Qualifies every column with `table`: unqualified, it would resolve to the output column of that name, which may be text. Columns of types without
 * an order are ordered by their texts.
 */
export function orderClause(order: readonly OrderSpec[], table: string): string {
  const columns = order.map(({ field, descending, nulls }) => {
    const place = nulls === undefined ? '' : ` nulls ${nulls}`
    const column = `${table}.${identifier(field.column)}`
    return `${field.type.orderable ? column : `(${column})::text`}${descending ? ' desc' : ''}${place}`
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
 * The conditions for the rows after a given row. Each row meets at most one condition, and an index can start at each; joined by `or`, the index
 * would be read from the beginning.
 */
function afterClauses(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): readonly string[] {
  const [first] = order
  if (!first?.field.mayBeNull) return [afterValue(order, values, params)]
  const column = comparedColumn(first.field)
  if (values[0] === null) {
    const others = `${column} is null and ${formattedOut(order, values, params, 1)}`
    return hasNullsFirst(first) ? [others, `${column} is not null`] : [others]
  }
  const beyond = afterValue(order, values, params)
  return hasNullsFirst(first) ? [beyond] : [beyond, `${column} is null`]
}

/**
 * The condition for the rows after a given row, if both have a value in the first field. If all fields have one direction and only the first may
 * be null, it is a row comparison, which is a single index condition; otherwise the fields are compared one by one.
 */
function afterValue(order: readonly OrderSpec[], values: readonly unknown[], params: Parameters): string {
  const [first, ...others] = order
  if (!first) return 'false'
  const { descending } = first
  if (others.every(({ field, descending: same }) => same === descending && !field.mayBeNull)) {
    const columns = order.map(({ field }) => comparedColumn(field))
    const bounds = order.map(({ field }, index) => params.add(writeCell(field, values[index])))
    return `(${columns.join(', ')}) ${descending ? '<' : '>'} (${bounds.join(', ')})`
  }
  const [column, bound] = [comparedColumn(first.field), params.add(writeCell(first.field, values[0]))]
  const [beyond, edge] = descending ? ['<', '<='] : ['>', '>=']
  const all = `(${column} ${beyond} ${bound} or (${column} = ${bound} and ${formattedOut(order, values, params, 1)}))`
  // Repeats the bound on its own, so that the index can start there: PostgreSQL does not derive index conditions from alternatives.
  return `${column} ${edge} ${bound} and ${all}`
}

/** The values of the row that a page starts after or before. */
function boundary(start: PageStart): readonly unknown[] {
  if ('after' in start) return start.after
  return 'before' in start ? start.before : []
}

function formattedOut(
  order: readonly OrderSpec[],
  values: readonly unknown[],
  params: Parameters,
  index: number,
): string {
  const head = order[index]
  if (!head) return 'false'
  const column = comparedColumn(head.field)
  const bound = values[index] === null ? undefined : params.add(writeCell(head.field, values[index]))
  const beyond = follows(column, bound, head)
  const same = bound === undefined ? `${column} is null` : `${column} = ${bound}`
  return `(${beyond} or (${same} and ${formattedOut(order, values, params, index + 1)}))`
}

function follows(column: string, bound: string | undefined, part: OrderSpec): string {
  const nullsFollow = !hasNullsFirst(part)
  if (bound === undefined) return nullsFollow ? 'false' : `${column} is not null`
  const compared = `${column} ${part.descending ? '<' : '>'} ${bound}`
  return part.field.mayBeNull && nullsFollow ? `${compared} or ${column} is null` : compared
}

/** The rows that a page is taken from. */
interface Source {
  readonly from: string
  /** Its name. */
  readonly table: string
  /** The columns of the key. */
  readonly key: readonly string[]
  /** Makes the SQL condition that the key is unique and not null; undefined if it always is. */
  readonly enforced: (() => string) | undefined
  /** The columns that are used. */
  readonly columns: string
  /** The `where` clause for all of its rows. */
  readonly where: string
  /** The order in which the page is taken. */
  readonly order: readonly OrderSpec[]
  /** The `limit` clause for the page and one more row; empty if unlimited. */
  readonly limit: string
}

/** The `from` item for the rows of a page and, if its size is limited, one more row. */
export function pageRows(plan: ListPlan, source: Source, params: Parameters): string {
  // Distinct values have no key.
  if (!isFar(plan) || plan.distinct || source.key.length === 0) return cutRows(plan, source, params)
  const { from, table, key, order, enforced } = source
  const columns = order.map(({ field }) => identifier(field.column)).join(', ')
  const keys = key.join(', ')
  const compared = key.length === 1 ? keys : `(${keys})`
  const byKey = `${from} where ${compared} in (select ${keys} from ${cutRows(plan, { ...source, columns }, params)})`
  if (enforced === undefined) return byKey
  // The statement itself asks, because others can alter the table at any time. PostgreSQL runs one of the two parts.
  const whole = `(select ${source.columns} from ${cutRows(plan, source, params)}) ${table}`
  return `(with ${KEY} as (select ${enforced()} as is_enforced)
    select ${source.columns} from ${byKey} and (select is_enforced from ${KEY})
    union all select ${source.columns} from ${whole} where not (select is_enforced from ${KEY})) ${table}`
}

const KEY = identifier(ENFORCED)

function cutRows(plan: ListPlan, source: Source, params: Parameters): string {
  const { from, table, where, order, limit } = source
  const parts = partsOf(plan.start, source, params)
  const [first, ...others] = order
  // In the first field, each part has only nulls or no nulls, so that an index can be read in order.
  const plain = first === undefined || parts.length === 0 ? order : [withoutPlace(first), ...others]
  const rowsOf = (part: string | undefined) =>
    `${from}${part === undefined ? where : `${where === '' ? ' where' : `${where} and`} ${part}`}`
  const passed = offsetOf(plan) > 0 ? params.add(String(offsetOf(plan))) : undefined
  if (parts.length < 2) {
    const ordered = orderClause(plain, table)
    const most = passed === undefined ? mostRows(plan) : undefined
    if (most !== undefined)
      return `(select ${source.columns} from ${rowsOf(parts[0])}${ordered} limit ${most}) ${table}${ordered}${limit}`
    return `${rowsOf(parts[0])}${ordered}${limit}${passed === undefined ? '' : ` offset ${passed}`}`
  }
  const windows = windowsOf(plan, { first: rowsOf(parts[0]), limit, passed })
  const selected = parts.map(
    (part, place) =>
      `(select ${source.columns} from ${rowsOf(part)}${orderClause(plain, table)}${windows.parts[place] ?? ''})`,
  )
  return `(${selected.join(' union all ')}) ${table}${orderClause(order, table)}${windows.whole}`
}

/**
 * A constant limit of the inner query: at least the page and one more row; undefined for unlimited lists and unusually large pages. The generic plan
 * of a prepared statement assumes that a `limit` in a parameter returns a tenth of the rows. For a large table, that looks so expensive that PostgreSQL would plan every execution.
 */
function mostRows({ limit }: ListPlan): number | undefined {
  return limit === undefined ? undefined : [101, 1_001].find((most) => limit < most)
}

/** The conditions of two parts that are read one after the other; empty if one part suffices. */
function partsOf(start: PageStart, { order, limit }: Source, params: Parameters): readonly string[] {
  if (!('offset' in start)) return afterClauses(order, boundary(start), params)
  const [first] = order
  if (first?.nulls === undefined || limit === '') return []
  const column = identifier(first.field.column)
  const parts = [`${column} is null`, `${column} is not null`]
  return first.nulls === 'first' ? parts : parts.toReversed()
}

interface Windows {
  /** The `limit` and `offset` of each of the two parts. */
  readonly parts: readonly string[]
  readonly whole: string
}

/**
 * How many rows each part reads, and which of both are kept. For a small offset, both parts read the skipped rows. For a large one, the second part
 * skips what the first has not, so that skipped rows are never sorted.
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
