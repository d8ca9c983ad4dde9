/** What ours does for every request besides its work: the same headers and a log entry, for the floor. */
import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export const SECURITY_HEADERS: readonly string[] = [
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'same-origin',
  'Cache-Control',
  'no-store',
  'Cross-Origin-Resource-Policy',
  'same-origin',
]

/** The paths of the routes in the log. */
const TEMPLATES: Readonly<Record<string, string>> = {
  'snippet-list': '/api/snippets-viewset/',
  'snippet-detail': '/api/snippets-viewset/{id}/',
  'snippets-list': '/api/snippets/',
  'snippets-retrieve': '/api/snippets/{id}/',
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly started: number
  route: string
}

export function begin(request: IncomingMessage, response: ServerResponse): Exchange {
  const given = request.headers['x-request-id']
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  return { request, response, requestId, started: performance.now(), route: '' }
}

/** The entity tag of a record. */
export function tagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url')}"`
}

/** Sends a complete response, and writes the log entry. */
export function answer(exchange: Exchange, status: number, text: string, more: readonly string[] = []): void {
  const headers = headersOf(exchange, more)
  headers.push('Content-Length', String(Buffer.byteLength(text)))
  exchange.response.writeHead(status, headers)
  exchange.response.end(text)
  note(exchange)
}

/** The headers of a response of unknown length. */
export function headersOf({ requestId }: Exchange, more: readonly string[]): string[] {
  return [...SECURITY_HEADERS, 'X-Request-Id', requestId, 'Content-Type', 'application/json', ...more]
}

export function note({ request, response, requestId, route, started }: Exchange): void {
  const ms = Math.round((performance.now() - started) * 1000) / 1000
  const entry = {
    level: 'info',
    time: new Date().toISOString(),
    event: 'request',
    request_id: requestId,
    method: request.method,
    route,
    template: TEMPLATES[route],
    status: response.statusCode,
    ms,
  }
  process.stdout.write(`${JSON.stringify(entry)}\n`)
}
