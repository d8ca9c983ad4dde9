import type { IncomingMessage } from 'node:http'
import type { CorsSpec } from '../../config/spec.js'

/** CORS headers, as flat lists of names and values. */
export interface Cors {
  /** For every response, also if the origin is not allowed. */
  headersFor(request: IncomingMessage): readonly string[]
  /** Whether scripts of the request's origin may read responses. */
  allows(request: IncomingMessage): boolean
  /** Whether the origin of the request is listed by its name, not by `*`. */
  names(request: IncomingMessage): boolean
  /** The headers for a preflight request; undefined for other requests and origins that are not allowed. */
  preflight(request: IncomingMessage, methods: string): Readonly<Record<string, string>> | undefined
}

const ALLOWED = ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'Range', 'Prefer', 'Idempotency-Key']
const TRACED = ['X-Request-Id', 'traceparent', 'tracestate']
/** With credentials, `*` is not a wildcard (Fetch standard), so each header is listed. */
const EXPOSED = [
  ...['Content-Range', 'X-Total-Count', 'X-Total-Count-Estimated', 'Link', 'Location', 'ETag', 'Retry-After'],
  ...['Allow', 'WWW-Authenticate', 'Accept-Post', 'Accept-Patch', 'Content-Disposition', 'Server-Timing'],
  ...['Deprecation', 'Sunset', 'RateLimit', 'RateLimit-Policy', 'Idempotency-Replayed', 'X-Request-Id'],
].join(', ')

/** Origins are compared as exact strings: no prefixes, suffixes or patterns. */
export function compileCors({ origins, credentials, maxAge, headers }: CorsSpec): Cors {
  const anybody = origins.includes('*')
  const vary: readonly string[] = anybody ? [] : ['Vary', 'Origin']
  const granted = (origin: string): readonly string[] => [
    ...vary,
    'Access-Control-Allow-Origin',
    origin,
    ...(credentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
    'Access-Control-Expose-Headers',
    credentials ? EXPOSED : '*',
  ]
  const known = new Map(origins.map((origin) => [origin, granted(origin)]))
  const grantOf = ({ headers: { origin } }: IncomingMessage) =>
    origin === undefined ? undefined : known.get(anybody ? '*' : origin)
  const fixed = {
    'Access-Control-Allow-Headers': [...ALLOWED, ...TRACED, ...headers].join(', '),
    'Access-Control-Max-Age': String(maxAge),
  }
  return {
    allows: (request) => grantOf(request) !== undefined,
    names: (request) => !anybody && grantOf(request) !== undefined,
    headersFor: (request) => grantOf(request) ?? vary,
    preflight: (request, methods) =>
      grantOf(request) && request.headers['access-control-request-method'] !== undefined
        ? { 'Access-Control-Allow-Methods': methods, ...fixed }
        : undefined,
  }
}
