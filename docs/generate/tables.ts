import { DIAGNOSTICS, FIELD_TYPES, PROBLEMS } from '../../src/internal.js'
import { DIALECTS } from '../../src/dialects/index.js'
import { PAGINATION_STYLES } from '../../src/pagination/index.js'
import { LOOKUPS, parameterOf } from '../../src/lookups/index.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/http/server/limits.js'
import { code, table } from './markdown.js'

/** When each problem is answered. The compiler asks for a line here when there is a new one. */
const OCCASIONS: Readonly<Record<keyof typeof PROBLEMS, string>> = {
  malformed_request:
    'The head of the request is not proper HTTP/1.1: no or two `Host` headers, a path that is not one.',
  malformed_body: 'The body is not one JSON object: bad syntax, invalid UTF-8, a key twice, nested too deep.',
  validation: 'A field is missing, unknown, or breaks a rule; `errors` has a sentence for each.',
  invalid_query: 'A query parameter is unknown, given twice, or has a value that is none of its field.',
  cross_site_request: 'A page of another site sent a request that writes, and `api.cors` does not list its origin.',
  misdirected_request:
    'The `Host` is none that the server answers for: `api.hosts`, or local names in development on loopback.',
  not_found: 'No record has the id, or no route the path.',
  method_not_allowed: 'The path exists and does not take the method; `Allow` lists those it takes.',
  not_acceptable: 'The route is a generated one, which answers JSON, and `Accept` leaves JSON out.',
  request_timeout: 'The request did not arrive in time.',
  conflict:
    'A value that must be unique is taken, or a record refers to one that is not there, or is still referred to: `detail` says by what, where that is public.',
  request_in_progress:
    'A request with the same `Idempotency-Key` is not answered yet; `Retry-After` says when to try again.',
  precondition_failed: 'The record is not, or no longer, of the version that `If-Match` names; nothing was changed.',
  precondition_required: 'The resource has `concurrency: required`, and the request has no `If-Match`.',
  idempotency_key_reused: 'The `Idempotency-Key` was sent before with another request: another method, path or body.',
  body_too_large: 'The body is larger than the limit of its resource.',
  unsupported_media_type: 'The body has another media type or a content encoding.',
  expectation_failed: 'The request expects something other than `100-continue`.',
  headers_too_large: 'The headers are too many or too long.',
  internal: 'A mistake in the service or a plugin. The log has the cause under the same `request_id`.',
  unsupported_transfer: 'The transfer coding is not `chunked`.',
  unavailable:
    'The database is away or busy, its tables are not those of the configuration, or too many answers wait for their clients; `Retry-After` says when to try again.',
  timeout: 'A statement or a handler took too long, and nothing was changed; `Retry-After` says when to try again.',
  outcome_unknown:
    'Nobody knows whether the change was made: the database was lost, or was silent, when it had been told to store it. Read the record, or send the request again with its `Idempotency-Key`.',
  unsupported_version: 'The request line names a version of HTTP other than 1.1 and 1.0.',
}

export function problems(): string {
  const rows = Object.entries(PROBLEMS).map(([type, { status, title }]) => {
    const occasion = OCCASIONS[type as keyof typeof PROBLEMS]
    return [String(status), code(`/problems/${type.replaceAll('_', '-')}`), title, occasion]
  })
  return table(['Status', '`type`', '`title`', 'When'], rows)
}

export function lookups(): string {
  const rows = LOOKUPS.map((lookup) => {
    const types = FIELD_TYPES.filter((type) => lookup.isOffered(type)).map(({ name }) => code(name))
    return [code(lookup.name), code(`${parameterOf('title', lookup)}=`), lookup.meaning, types.join(' ')]
  })
  return table(['Lookup', 'Parameter', 'The field …', 'Types'], rows)
}

export function paginationStyles(): string {
  const rows = PAGINATION_STYLES.map(({ name, summary, parameters }) => [
    code(name),
    summary,
    parameters.map(code).join(' ') || 'none',
  ])
  return table(['Style', 'What it does', 'Parameters'], rows)
}

export function dialects(): string {
  const rows = DIALECTS.map(({ name, summary, paging, parameters, search, put, destroyed }) => [
    code(name),
    summary,
    [...paging, ...parameters].map(code).join(' '),
    search === undefined ? '' : code(search),
    put === 'merge' ? 'sets what the body names' : 'replaces the record',
    destroyed === 'record' ? '200 and the record' : '204',
  ])
  return table(['Dialect', 'Lists', 'Parameters beside filters', 'Search', 'PUT', 'DELETE'], rows)
}

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`

const LIMITS: readonly (readonly [what: string, limit: keyof Limits, unit: (value: number) => string])[] = [
  ['Time for the head of a request', 'headersTimeout', seconds],
  ['Time for a whole request with its body', 'requestTimeout', seconds],
  ['Time for a handler, not counting the wait for the body', 'handlerTimeout', seconds],
  ['Time between two requests on one connection', 'keepAliveTimeout', seconds],
  ['Time without a byte in either direction', 'idleTimeout', seconds],
  ['Time for the requests under way when the server stops', 'drainTimeout', seconds],
  ['Headers in a request', 'headers', String],
  ['Requests on one connection', 'requestsPerConnection', String],
  ['Connections', 'connections', String],
]

export function limits(): string {
  return table(
    ['What', 'Limit'],
    LIMITS.map(([what, limit, unit]) => [what, unit(DEFAULT_LIMITS[limit])]),
  )
}

const GROUPS = {
  SC1: 'The text is not usable YAML',
  SC2: 'A value has the wrong shape',
  SC3: 'The parts do not fit together',
  SC4: 'Warnings: indexes',
}

export function diagnostics(): string {
  const entries = Object.entries(DIAGNOSTICS)
  return Object.entries(GROUPS)
    .map(([prefix, heading]) => {
      const rows = entries
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, { title, explanation }]) => [name, title, explanation])
      return `## ${prefix}xx: ${heading}\n\n${table(['Code', 'What is wrong', 'Cause and repair'], rows)}`
    })
    .join('\n\n')
}
