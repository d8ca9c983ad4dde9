import { DIAGNOSTICS, FIELD_TYPES, PROBLEMS } from '../../src/internal.js'
import { DIALECTS } from '../../src/dialects/index.js'
import { PAGINATION_STYLES } from '../../src/pagination/index.js'
import { LOOKUPS, parameterOf } from '../../src/lookups/index.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/http/connections/limits.js'
import { code, table } from './markdown.js'

/** When each problem occurs. A new problem needs a line here. */
const OCCASIONS: Readonly<Record<keyof typeof PROBLEMS, string>> = {
  malformed_request: 'The head of the request is not valid HTTP/1.1: a missing or repeated `Host`, an invalid path.',
  malformed_body: 'The body is not one JSON object: invalid syntax or UTF-8, a duplicate key, too many levels.',
  validation: 'A field is missing, unknown or invalid; `errors` has a sentence for each.',
  invalid_query:
    'A query parameter is unknown or repeated, or its value is invalid for the field or outside of the range of its column.',
  unauthorized:
    'The request has no valid credentials, and `auth` or a plugin requires them; `WWW-Authenticate` can name the accepted ones.',
  forbidden:
    'No grant allows the caller to do this, a plugin rejects the request, or row-level security of the database rejects the record.',
  cross_site_request: 'A page of another site sent a write, and `api.cors` does not list its origin.',
  misdirected_request: 'The `Host` is unknown: it is not in `api.hosts`, nor a local name in development on loopback.',
  not_found: 'No record has this id, or no route has this path.',
  method_not_allowed: 'The path does not support the method; `Allow` lists the supported methods.',
  not_acceptable: '`Accept` excludes the media type of the response: JSON, or CSV for an export.',
  request_timeout: 'The request did not arrive in time.',
  conflict:
    'A unique value is taken, a related record does not exist, other records still refer to the record, or a trigger raised an error or skipped the change; `detail` names them if they are public.',
  request_in_progress:
    'A request with the same `Idempotency-Key` is in progress; `Retry-After` says when to try again.',
  precondition_failed:
    'The record has changed since the version in `If-Match`, or a change lists its version in `If-None-Match`; nothing was changed.',
  precondition_required: 'The resource has `concurrency: required`, and the request has no `If-Match`.',
  idempotency_key_reused:
    'The `Idempotency-Key` was used before for a request with another method, path, query or body.',
  body_too_large: 'The body is larger than the limit of its resource.',
  unsupported_media_type: 'The body has another media type or a content encoding.',
  expectation_failed: 'The request expects something other than `100-continue`.',
  too_many_requests: 'A plugin limits the rate of requests; `Retry-After` can say when to try again.',
  headers_too_large: 'There are too many headers, or they are too long.',
  internal: 'A bug in the service or a plugin. The log has the cause with the same `request_id`.',
  unsupported_transfer: 'The transfer coding is not `chunked`.',
  unavailable:
    'The database is unavailable or overloaded, its tables do not match the configuration, a function of the database, such as that of a trigger, does not work, a view cannot be changed or has no data yet, the sequence of a key is exhausted, too many responses are unread, or too many large bodies are arriving; `Retry-After` says when to try again.',
  timeout: 'A statement or a handler took too long, and nothing was changed; `Retry-After` says when to try again.',
  outcome_unknown:
    'The change may have been made: the database did not confirm the commit, or did not return the new record. Read the record, or send the request again with its `Idempotency-Key`.',
  unsupported_version: 'The request uses an HTTP version other than 1.1 and 1.0.',
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
    put === 'merge' ? 'sets the fields in the body' : 'replaces the record',
    destroyed === 'record' ? '200 with the record' : '204',
  ])
  return table(['Dialect', 'Lists', 'Parameters besides filters', 'Search', 'PUT', 'DELETE'], rows)
}

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`

const LIMITS: readonly (readonly [what: string, limit: keyof Limits, unit: (value: number) => string])[] = [
  ['Time to receive the head of a request', 'headersTimeout', seconds],
  ['Time to receive a request with its body', 'requestTimeout', seconds],
  ['Time for a handler, without receiving the body', 'handlerTimeout', seconds],
  ['Time for an export', 'exportTimeout', seconds],
  ['Time between two requests on one connection', 'keepAliveTimeout', seconds],
  ['Time without a byte in either direction', 'idleTimeout', seconds],
  ['Time for requests in progress at shutdown', 'drainTimeout', seconds],
  ['Headers in a request', 'headers', String],
  ['Requests on one connection', 'requestsPerConnection', String],
  ['Connections', 'connections', String],
]

export function limits(): string {
  return table(
    ['Limit', 'Value'],
    LIMITS.map(([what, limit, unit]) => [what, unit(DEFAULT_LIMITS[limit])]),
  )
}

const GROUPS = {
  SC1: 'The text is not usable YAML',
  SC2: 'A value has the wrong shape',
  SC3: 'The parts do not fit together',
  SC4: 'Warnings',
}

export function diagnostics(): string {
  const entries = Object.entries(DIAGNOSTICS)
  return Object.entries(GROUPS)
    .map(([prefix, heading]) => {
      const rows = entries
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, { title, explanation }]) => [name, title, explanation])
      return `## ${prefix}xx: ${heading}\n\n${table(['Code', 'Mistake', 'Cause and fix'], rows)}`
    })
    .join('\n\n')
}
