import type { Records } from '../../src/http/records.js'
import type { Mount } from '../../src/http/server/fallback.js'
import type { Hosts } from '../../src/http/headers/hosts.js'
import type { Limits } from '../../src/http/connections/limits.js'
import type { LogEntry } from '../../src/http/log.js'
import type { BodyPolicy, Handler, Method } from '../../src/http/route.js'
import { RouteTable } from '../../src/http/route-table.js'
import { createServer, type HttpServer } from '../../src/http/server/server.js'
import { Problem } from '../../src/foundation/problem.js'

/** A server with hand-written routes about books, without a database. */
export interface BookServer extends HttpServer {
  readonly url: string
  /** What was logged, in order. */
  readonly logged: readonly LogEntry[]
  readonly errors: readonly LogEntry[]
  /** The bodies that handlers have read, in order. */
  readonly written: readonly string[]
}

interface Options {
  readonly routes?: readonly (readonly [method: Method, path: string, handle: Handler])[]
  readonly mounts?: readonly Mount[]
  readonly limits?: Partial<Limits>
  readonly hosts?: Hosts
  readonly compression?: boolean
}

export const LIMIT = 64 * 1024

const POLICY: BodyPolicy = { mediaTypes: ['application/json'], optional: false, limit: LIMIT }

/** Handlers here never use records; if one does, the test fails. */
const NO_RECORDS: Records = {
  store: () => unreachable(),
  documents: () => unreachable(),
  modelOf: () => unreachable(),
  queries: { knex: () => unreachable(), models: () => unreachable(), run: () => unreachable() },
  answers: () => unreachable(),
  memberships: () => unreachable(),
  needsTransaction: () => unreachable(),
  transaction: () => unreachable(),
}

/** The same server, not yet listening. */
export function makeBookServer({
  routes = [],
  mounts = [],
  limits = {},
  hosts,
  compression = false,
}: Options = {}): Omit<BookServer, 'url'> {
  const table = new RouteTable()
  const logged: LogEntry[] = []
  const errors: LogEntry[] = []
  const written: string[] = []
  const write: Handler = async (context) => {
    const body = await context.body(POLICY)
    written.push(body.keys.join())
    return {
      status: context.method === 'POST' ? 201 : 200,
      body: Object.fromEntries(body.keys.map((key) => [key, body.value(key)])),
    }
  }
  const all: readonly (readonly [Method, string, Handler])[] = [
    ['GET', '/api/books/', (context) => ({ status: 200, body: { books: [], search: context.search } })],
    ['POST', '/api/books/', write],
    ['GET', '/api/books/config/', () => ({ status: 200, body: { literal: true } })],
    ['GET', '/api/books/{id}/', (context) => readBook(context.params.id)],
    ['PUT', '/api/books/{id}/', write],
    ['DELETE', '/api/books/{id}/', () => ({ status: 204 })],
    ['POST', '/api/plain/', write],
    [
      'PUT',
      '/api/plain/',
      async (context) => ({ status: 200, body: (await context.body({ ...POLICY, optional: true })).keys }),
    ],
    ...routes,
  ]
  for (const [method, path, handle] of all) table.add({ name: `book${path}`, method, path, handle, source: 'test' })
  table.renderProblems('/api/plain/', (problem) => ({ error: problem.message }))
  table.renderProblems('/api/broken/', () => {
    throw new Error('canary')
  })
  const log = {
    info: (entry: LogEntry) => void logged.push(entry),
    error: (entry: LogEntry) => void errors.push(entry),
  }
  return {
    ...createServer({ routes: table, records: NO_RECORDS, mounts, limits, hosts, compression, log }),
    logged,
    errors,
    written,
  }
}

/** Starts the server on a free port. */
export async function startBooks(options: Options = {}): Promise<BookServer> {
  const server = makeBookServer(options)
  const { url } = await server.listen({ port: 0, host: '127.0.0.1' })
  return { ...server, url }
}

function readBook(id: string | undefined) {
  if (id === undefined || !/^[0-9]{1,5}$/.test(id)) throw new Problem('not_found', 'there is no such book')
  return { status: 200, body: { id: Number(id) } }
}

function unreachable(): never {
  throw new Error('a request without records reached for them')
}
