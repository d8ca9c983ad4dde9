import { STATUS_CODES } from 'node:http'
import type { ValueDescription } from '../http/operation-description.js'
import type { JsonSchema } from '../foundation/json.js'
import { PROBLEMS, uriOf } from '../foundation/problem.js'
import { toPascal } from '../resource/names.js'
import { type JsonPart, reference } from './json-part.js'
import type { Resource } from '../resource/resource.js'

/** Statuses that any request may get: it is malformed, or the server failed. */
export const UNDECLARED: readonly number[] = [400, 408, 417, 431, 500, 501, 504]

const REQUEST_ID = 'X-Request-Id'

/** Headers of several responses, by name. */
export const HEADERS: Readonly<Record<string, ValueDescription>> = {
  [REQUEST_ID]: {
    description: 'Identifies the request in the log. The client’s own ID is used if it has 8 to 64 plain characters.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,64}$' },
  },
  'Retry-After': {
    description: 'Seconds to wait before retrying.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': {
    description: 'The credentials that the service accepts (RFC 9110, 11.6.1).',
    schema: { type: 'string' },
  },
  Link: {
    description: 'Links to other pages (RFC 8288), by `rel`: first, prev, next, last.',
    schema: { type: 'string' },
  },
  'X-Total-Count': {
    description: 'The number of records on all pages.',
    schema: { type: 'integer', minimum: 0, format: 'int64' },
  },
  'X-Total-Count-Estimated': {
    description: 'Present if the total is an estimate.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Content-Range': {
    description: 'The range of these records and the total: `books 0-9/42`.',
    required: true,
    schema: { type: 'string' },
  },
  'Content-Disposition': {
    description: 'The name of the file: `attachment; filename="books.csv"`.',
    required: true,
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The version of the record, for `If-Match` and `If-None-Match` (RFC 9110).',
    required: true,
    schema: { type: 'string', pattern: '^"[A-Za-z0-9_-]{43}(-[A-Za-z0-9_-]{22})?(-(br|gzip))?"$' },
  },
  Accept: { description: 'The media types for replacing a record.', schema: { type: 'string' } },
  'Accept-Post': { description: 'The media types for creating a record.', schema: { type: 'string' } },
  'Accept-Patch': { description: 'The media types for changing a record (RFC 5789).', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: 'Present if a request with this `Idempotency-Key` has succeeded before; this is its stored response.',
    schema: { type: 'string', enum: ['true'] },
  },
  Location: {
    description: 'The URL of the new record.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
}

/** The headers of a response: the given ones, and those of every response. */
export function headersNamed(...names: readonly string[]): JsonPart {
  return Object.fromEntries([...names, REQUEST_ID].map((name) => [name, reference('headers', name)]))
}

/** A problem document (RFC 9457). */
export const PROBLEM_SCHEMA: JsonPart = {
  type: 'object',
  description: 'A problem document (RFC 9457).',
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description: `The kind of problem: ${Object.keys(PROBLEMS).map(codeOf).join(', ')}, or one that the code of a route has chosen. It is a name, not the address of a page.`,
      examples: ['/problems/not-found'],
    },
    title: { type: 'string', examples: ['Not found'] },
    status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599, examples: [404] },
    detail: { type: 'string', examples: ['Not found'] },
    message: { type: 'string', description: 'The same as `detail`.', examples: ['Not found'] },
    errors: {
      type: 'object',
      description: 'The error of each invalid field, by its name.',
      additionalProperties: { type: 'string' },
    },
    request_id: { type: 'string', examples: ['3f2c7a52-7d0e-4b5c-9f62-1d1f6a1c8e11'] },
  },
  required: ['type', 'title', 'status', 'detail', 'message', 'request_id'],
}

/** The name of the component for an error response: `NotFound`. */
export function rejectionName(status: number): string {
  return toPascal(STATUS_CODES[status] ?? `Status ${status}`)
}

/** The headers of error responses, by status. */
const REJECTION_HEADERS: Readonly<Record<number, readonly string[]>> = {
  [PROBLEMS.unauthorized.status]: ['WWW-Authenticate'],
  [PROBLEMS.too_many_requests.status]: ['Retry-After'],
  [PROBLEMS.request_in_progress.status]: ['Retry-After'],
  [PROBLEMS.unavailable.status]: ['Retry-After'],
  [PROBLEMS.unsupported_media_type.status]: ['Accept', 'Accept-Post', 'Accept-Patch'],
}

/** The headers of an error response. */
export function headersOfRejection(status: number): JsonPart {
  return headersNamed(...(REJECTION_HEADERS[status] ?? []))
}

/** The problem document for a status. */
export function rejection(status: number): JsonPart {
  const kinds = Object.entries(PROBLEMS).filter(([, problem]) => problem.status === status)
  const titles = kinds.map(([type, { title }]) => `${title} (${codeOf(type)})`)
  const [first] = kinds
  return {
    description: titles.length > 0 ? `${titles.join('; ')}.` : `${STATUS_CODES[status]}.`,
    headers: headersOfRejection(status),
    content: problemContent(first && exampleOf(first[0], first[1].title, status)),
  }
}

/** Errors that are not about the operation itself. */
export function anyOther(): JsonPart {
  return {
    description: `Any other problem: a malformed request, or a failure of the service (${UNDECLARED.join(', ')}). With 504 and the type \`/problems/outcome-unknown\`, the change may have been made; that response has no \`Retry-After\`.`,
    headers: headersNamed('Retry-After'),
    content: problemContent(undefined),
  }
}

/** The response for plugin code, which may return any error. */
export function anyProblem(): JsonPart {
  return { ...anyOther(), description: 'Any other problem, with a status chosen by the code of the route.' }
}

/** The content of problem documents. */
export function problemContent(example: JsonPart | undefined): JsonPart {
  const schema = reference('schemas', 'Problem')
  return { 'application/problem+json': { schema, ...(example && { example }) } }
}

/** The content of problems with a custom shape. */
export function renderedProblem(schema: JsonSchema = { type: 'object' }): JsonPart {
  return { 'application/json': { schema } }
}

function codeOf(type: string): string {
  return `\`${uriOf(type)}\``
}

function exampleOf(type: string, title: string, status: number): JsonPart {
  return {
    type: uriOf(type),
    title,
    status,
    detail: title,
    message: title,
    request_id: '3f2c7a52-7d0e-4b5c-9f62-1d1f6a1c8e11',
  }
}

/** The error responses of a resource by status; a dialect may have its own shape. */
export function rejecting({ spec }: Resource): (status: number | 'other') => JsonPart {
  const isRendered = spec.dialect?.rejection !== undefined
  if (!isRendered) return (status) => reference('responses', status === 'other' ? 'AnyOther' : rejectionName(status))
  return (status) => ({
    ...(status === 'other' ? anyOther() : rejection(status)),
    content: renderedProblem(spec.dialect?.rejectionSchema),
  })
}
