/** Lists of the floor: one prepared statement for each combination of filters and order, created on first use. */
import { Rejection } from './snippet-body.js'

const COLUMNS = `id, title, code, language,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at`

/** The JSON text of a record, the same as ours. */
export const DOCUMENT = `(select row_to_json(d)::text from (select ${COLUMNS}) d)`

export const COUNT_CAP = 10_000

/** A parsed request for a page. */
export interface PageRequest {
  readonly page: number
  readonly size: number
  /** The conditions of the page, with parameters from $1 on. */
  readonly where: string
  readonly values: readonly string[]
  readonly text: string
  readonly name: string
  /** The query string without the page. */
  readonly kept: string
}

const ORDERS: Readonly<Record<string, string>> = {
  '': 'id',
  created_at: 'created_at, id',
  '-created_at': 'created_at desc, id desc',
  title: 'title, id',
  '-title': 'title desc, id desc',
}
const FILTERS = ['language', 'title']
const KNOWN = new Set(['page', 'page_size', 'ordering', ...FILTERS])
const COUNT = /^[1-9]\d{0,8}$/

/** @throws Rejection for an invalid query */
export function readPage(search: string): PageRequest {
  const query = new URLSearchParams(search)
  for (const name of query.keys()) if (!KNOWN.has(name)) throw new Rejection(400, `there is no parameter ${name}`)
  const page = readCount(query, 'page', 1)
  const size = Math.min(100, readCount(query, 'page_size', 10))
  const ordering = query.get('ordering') ?? ''
  const order = ORDERS[ordering]
  if (order === undefined) throw new Rejection(400, 'ordering is not right')
  const filters = FILTERS.filter((name) => query.has(name))
  const values = filters.map((name) => query.get(name) ?? '')
  const conditions = filters.map((name, index) => `${name} = $${index + 1}`)
  const where = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
  const next = values.length + 1
  query.delete('page')
  query.delete('page_size')
  return {
    page,
    size,
    where,
    values,
    // Limits the rows before building JSON; otherwise JSON would be built for skipped rows, too.
    text:
      `select (select count(*) from (select 1 from snippets${where} limit ${COUNT_CAP + 1}) c), row_to_json(d)::text from (` +
      `select ${COLUMNS} from (select * from snippets${where} order by ${order} limit $${next} offset $${next + 1}) s) d`,
    name: `list ${filters.join()} ${ordering}`,
    kept: String(query),
  }
}

function readCount(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  if (!COUNT.test(text)) throw new Rejection(400, `${name} is no count`)
  return Number(text)
}

/** The headers of a page. */
export function pageHeaders(request: PageRequest, total: number, more: boolean): string[] {
  const { page, size, kept } = request
  const last = total > COUNT_CAP ? undefined : Math.max(1, Math.ceil(total / size))
  const link = (number: number, rel: string) =>
    `</api/snippets-viewset/?${kept === '' ? '' : `${kept}&`}page=${number}&page_size=${size}>; rel="${rel}"`
  const links = [link(1, 'first')]
  if (page > 1) links.push(link(page - 1, 'prev'))
  if (more) links.push(link(page + 1, 'next'))
  if (last !== undefined) links.push(link(last, 'last'))
  const headers = ['Link', links.join(', '), 'X-Total-Count', String(total)]
  if (last === undefined) headers.push('X-Total-Count-Estimated', 'true')
  return headers
}
