/**
 * The floor: the cost of the service when written by hand for this one table. node:http, a plain pool, one named prepared statement for each kind of
 * request, JSON built by PostgreSQL. It has no known bug, a single resource, and few of the checks.
 */
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { answer, begin, type Exchange, headersOf, note, tagOf } from './duties.js'
import { COUNT_CAP, DOCUMENT, pageHeaders, readPage } from './floor-lists.js'
import { createSetA } from './floor-set-a.js'
import { judge, readJson, Rejection } from './snippet-body.js'

const SET_B = '/api/snippets-viewset/'
const SET_A = '/api/snippets/'
const ID = /^[1-9]\d{0,17}\/?$/

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const setA = createSetA(pool)

type Rows = readonly (readonly string[])[]

async function query(name: string, text: string, values: readonly string[]): Promise<Rows> {
  return (await pool.query({ name, text, values: [...values], rowMode: 'array' })).rows
}

async function retrieve(exchange: Exchange, id: string): Promise<void> {
  const [row] = await query('retrieve', `select ${DOCUMENT} from snippets where id = $1`, [id])
  answerRecord(exchange, row?.[0] ?? notFound())
}

function answerRecord(exchange: Exchange, text: string): void {
  const tag = tagOf(text)
  if (exchange.request.headers['if-none-match'] === tag) return answer(exchange, 304, '', ['ETag', tag])
  answer(exchange, 200, text, ['ETag', tag])
}

async function list(exchange: Exchange, search: string): Promise<void> {
  const page = readPage(search)
  const { size, name, text, values } = page
  const rows = await query(name, text, [...values, String(size + 1), String((page.page - 1) * size)])
  const counted = rows[0] ? Number(rows[0][0]) : 0
  const total = counted > COUNT_CAP ? await estimate(page.where, values) : counted
  const items = rows.length > size ? rows.slice(0, size) : rows
  answer(exchange, 200, `[${items.map((row) => row[1]).join(',')}]`, pageHeaders(page, total, rows.length > size))
}

/** The planner's estimate of a count above the cap. */
async function estimate(where: string, values: readonly string[]): Promise<number> {
  const rows = await query(`estimate${where}`, `explain (format json) select 1 from snippets${where}`, values)
  // The driver parses a JSON column.
  const [explained] = rows[0]?.[0] as unknown as readonly { readonly Plan: { readonly 'Plan Rows': number } }[]
  return Math.max(COUNT_CAP + 1, explained?.Plan['Plan Rows'] ?? 0)
}

async function create(exchange: Exchange): Promise<void> {
  const { title = '', code = '', language = '' } = judge(await readJson(exchange.request), false)
  const text = `insert into snippets (title, code, language) values ($1, $2, $3) returning id, ${DOCUMENT}`
  const [row] = await query('create', text, [title, code, language])
  const document = row?.[1] ?? ''
  answer(exchange, 201, document, ['ETag', tagOf(document), 'Location', `${SET_B}${row?.[0]}/`])
}

async function change(exchange: Exchange, id: string, partial: boolean): Promise<void> {
  const fields = judge(await readJson(exchange.request), partial)
  const names = Object.keys(fields)
  if (names.length === 0) return retrieve(exchange, id)
  const text =
    `update snippets set ${names.map((name, index) => `${name} = $${index + 2}`).join(', ')} ` +
    `where id = $1 returning ${DOCUMENT}`
  const [row] = await query(`update ${names.join()}`, text, [id, ...Object.values(fields)])
  answerRecord(exchange, row?.[0] ?? notFound())
}

async function retrieveA(exchange: Exchange, id: string): Promise<void> {
  answer(exchange, 200, (await setA.retrieve(id)) ?? notFound())
}

async function listA(exchange: Exchange): Promise<void> {
  exchange.response.writeHead(200, headersOf(exchange, []))
  await pipeline(setA.list(), exchange.response)
  note(exchange)
}

function notFound(): never {
  throw new Rejection(404, 'there is no such record')
}

type Act = (exchange: Exchange, id: string) => Promise<void>

const DETAIL: Readonly<Record<string, readonly [route: string, act: Act]>> = {
  GET: ['snippet-detail', retrieve],
  PUT: ['snippet-detail', (exchange, id) => change(exchange, id, false)],
  PATCH: ['snippet-detail', (exchange, id) => change(exchange, id, true)],
}
const LIST: Readonly<Record<string, readonly [route: string, act: Act]>> = {
  GET: ['snippet-list', list],
  POST: ['snippet-list', create],
}

async function route(exchange: Exchange): Promise<void> {
  const { method = '', url = '' } = exchange.request
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  if (path === SET_B) return act(exchange, LIST[method], mark === -1 ? '' : url.slice(mark + 1))
  const id = path.startsWith(SET_B) ? path.slice(SET_B.length) : ''
  if (ID.test(id)) return act(exchange, DETAIL[method], id.endsWith('/') ? id.slice(0, -1) : id)
  if (path === SET_A && method === 'GET') return act(exchange, ['snippets-list', listA], '')
  const idA = path.startsWith(SET_A) ? path.slice(SET_A.length) : ''
  if (ID.test(idA) && method === 'GET') return act(exchange, ['snippets-retrieve', retrieveA], idA.slice(0, -1))
  notFound()
}

function act(exchange: Exchange, found: readonly [string, Act] | undefined, value: string): Promise<void> {
  if (found === undefined) throw new Rejection(405, 'this method is not offered here')
  exchange.route = found[0]
  return found[1](exchange, value)
}

const server = createServer((request, response) => {
  const exchange = begin(request, response)
  route(exchange).catch((error: unknown) => {
    if (response.headersSent) return response.destroy()
    const status = error instanceof Rejection ? error.status : 500
    return answer(exchange, status, JSON.stringify({ detail: error instanceof Rejection ? error.message : 'failure' }))
  })
})
server.listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void pool.end()
})
