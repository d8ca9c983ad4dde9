import { toJsonText } from '../fields/spelling/exact-json.js'
import { toReply } from '../http/server/replies/problem-document.js'
import { deriveContext } from '../http/registrations/queries.js'
import type { Context, Reply } from '../http/route.js'
import type { RouteTable } from '../http/route-table.js'
import { Problem } from '../foundation/problem.js'
import { closeArray } from './records/cut-json.js'
import { grouped } from './html.js'

/** The API's response to a request, as a page shows it. */
export interface ApiResponse {
  readonly status: number
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  /** Whether the response is longer than a page shows. */
  readonly cut: boolean
  readonly milliseconds: number
}

/** The maximum length of a streamed response that a page reads. */
const MAX_STREAMED = 256 * 1024

/** Headers that are about the page rather than the API request. */
const OF_THE_PAGE = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
])

/**
 * Returns the API's response to `GET path?search`, with the rights of the client who requests the page: the route's own handler responds, so the page
 * shows exactly what the API returns, including errors. Bugs are rethrown: errors other than Problems, and Problems of the type `internal`.
 */
export async function ask(
  context: Context,
  routes: Pick<RouteTable, 'match' | 'rendererAt'>,
  { path, search }: { readonly path: string; readonly search: string },
): Promise<ApiResponse> {
  const started = performance.now()
  const reply = await answerOf(context, routes, { path, search })
  const { text, cut } = await readAll(reply)
  const headers = Object.entries(reply.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const)
  return {
    status: reply.status,
    headers: new Map([['content-type', 'application/json'], ...headers]),
    text,
    cut,
    milliseconds: performance.now() - started,
  }
}

/** Returns the total of a list, for people, as far as the response provides it. */
export function totalOf({ headers }: ApiResponse): string | undefined {
  const total = headers.get('x-total-count')
  if (total === undefined) return undefined
  return headers.has('x-total-count-estimated') ? `about ${grouped(total)}` : grouped(total)
}

async function answerOf(
  context: Context,
  routes: Pick<RouteTable, 'match' | 'rendererAt'>,
  { path, search }: { readonly path: string; readonly search: string },
): Promise<Reply> {
  try {
    const match = routes.match('GET', path)
    if (!match || !('route' in match)) throw new Problem('not_found', 'there is nothing at this path')
    const asked = Object.entries(context.headers).filter(([name]) => !OF_THE_PAGE.has(name))
    const headers = { ...Object.fromEntries(asked), accept: 'application/json' }
    // Pages link to pages, so links in responses have no host.
    const own = { method: 'GET', params: match.params, search, headers, publicUrl: () => '' }
    return await match.route.handle(deriveContext(context, own))
  } catch (error) {
    if (!(error instanceof Problem) || error.type === 'internal') throw error
    return toReply(error, context.requestId, routes.rendererAt(path))
  }
}

async function readAll({ text, body, stream }: Reply): Promise<{ readonly text: string; readonly cut: boolean }> {
  if (stream === undefined) return { text: decode(text ?? (body === undefined ? '' : toJsonText(body))), cut: false }
  let all = ''
  for await (const piece of stream) {
    all += piece
    if (all.length > MAX_STREAMED) return { text: closeArray(all.slice(0, MAX_STREAMED)), cut: true }
  }
  return { text: all, cut: false }
}

function decode(text: string | Uint8Array): string {
  return typeof text === 'string' ? text : Buffer.from(text).toString()
}
