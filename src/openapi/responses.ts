import { STATUS_CODES } from 'node:http'
import type { ValueDescription } from '../http/operation-description.js'
import type { JsonSchema } from '../json.js'
import { PROBLEMS, type ProblemType } from '../problem.js'
import { toPascal } from '../resource/names.js'
import { type Part, reference } from './json-part.js'

/** The statuses that a request can get whatever it asks for: it cannot be read, or something failed here. */
export const UNDECLARED: readonly number[] = [400, 408, 417, 431, 500, 501, 504]

const REQUEST_ID = 'X-Request-Id'

/** The header of answers that are given again. */
export const REPLAYED: ValueDescription = {
  description: 'There when the request was done before, by its `Idempotency-Key`: this is the answer that it got then.',
  schema: { type: 'string', enum: ['true'] },
}

/** Headers that several answers have, by name. */
export const HEADERS: Readonly<Record<string, Part>> = {
  [REQUEST_ID]: {
    description: 'Names the request in the log; the client’s own, when it sent a plain one of 8 to 64 characters.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,64}$' },
  },
  'Retry-After': {
    description: 'Seconds after which it is worth another try.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': {
    description: 'The credentials that the service accepts (RFC 9110, 11.6.1).',
    schema: { type: 'string' },
  },
  Link: {
    description: 'The pages around this one (RFC 8288), by `rel`: first, prev, next, last.',
    schema: { type: 'string' },
  },
  'X-Total-Count': {
    description: 'How many records there are on all pages.',
    schema: { type: 'integer', minimum: 0, format: 'int64' },
  },
  'X-Total-Count-Estimated': {
    description: 'There when the total is an estimate.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Content-Range': {
    description: 'Which records these are, of how many: `books 0-9/42`.',
    required: true,
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The version of the record, for `If-Match` and `If-None-Match` (RFC 9110).',
    required: true,
    schema: { type: 'string', pattern: '^"[A-Za-z0-9_-]{43}"$' },
  },
  Accept: { description: 'The media types that a record is replaced by.', schema: { type: 'string' } },
  'Accept-Post': { description: 'The media types that a record is made of.', schema: { type: 'string' } },
  'Accept-Patch': { description: 'The media types that change a record (RFC 5789).', schema: { type: 'string' } },
  'Idempotency-Replayed': { ...REPLAYED },
  Location: {
    description: 'Where the new record is.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
}

/** The headers of an answer: those named, and what every answer has. */
export function headersNamed(...names: readonly string[]): Part {
  return Object.fromEntries([...names, REQUEST_ID].map((name) => [name, reference('headers', name)]))
}

/** A problem document (RFC 9457). */
export const PROBLEM_SCHEMA: Part = {
  type: 'object',
  description: 'What is wrong (RFC 9457).',
  properties: {
    type: { type: 'string', format: 'uri-reference', examples: ['/problems/not-found'] },
    title: { type: 'string', examples: ['Not found'] },
    status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599, examples: [404] },
    detail: { type: 'string', examples: ['Not found'] },
    message: { type: 'string', description: 'The same as `detail`.', examples: ['Not found'] },
    errors: {
      type: 'object',
      description: 'What is wrong with each field, by its name.',
      additionalProperties: { type: 'string' },
    },
    request_id: { type: 'string', examples: ['3f2c7a52-7d0e-4b5c-9f62-1d1f6a1c8e11'] },
  },
  required: ['type', 'title', 'status', 'detail', 'message', 'request_id'],
}

/** The name of the component that describes a refusal: `NotFound`. */
export function refusalName(status: number): string {
  return toPascal(STATUS_CODES[status] ?? `Status ${status}`)
}

/** What refusals tell in headers, by status. */
const TELLING: Readonly<Record<number, readonly string[]>> = {
  [PROBLEMS.unauthorized.status]: ['WWW-Authenticate'],
  [PROBLEMS.too_many_requests.status]: ['Retry-After'],
  [PROBLEMS.request_in_progress.status]: ['Retry-After'],
  [PROBLEMS.unavailable.status]: ['Retry-After'],
  [PROBLEMS.unsupported_media_type.status]: ['Accept', 'Accept-Post', 'Accept-Patch'],
}

/** The headers of a refusal. */
export function headersOfRefusal(status: number): Part {
  return headersNamed(...(TELLING[status] ?? []))
}

/** A refusal with a problem document, of whatever makes a request end in this status. */
export function refusal(status: number): Part {
  const kinds = Object.entries(PROBLEMS).filter(([, problem]) => problem.status === status)
  const titles = kinds.map(([, { title }]) => title)
  const [type, title] = kinds.length > 0 ? [kinds[0]?.[0] ?? '', titles[0] ?? ''] : ['', '']
  return {
    description: titles.length > 0 ? `${titles.join('; ')}.` : `${STATUS_CODES[status]}.`,
    headers: headersOfRefusal(status),
    content: problemContent(kinds.length > 0 ? exampleOf(type as ProblemType, title, status) : undefined),
  }
}

/** What no operation speaks of, because it has nothing to do with what is asked. */
export function anyOther(): Part {
  return {
    description: `Any other problem: a request that cannot be read, or a failure of the service (${UNDECLARED.join(', ')}). With 504 and the type \`/problems/outcome-unknown\`, a change may have been made; it has no \`Retry-After\`.`,
    headers: headersNamed('Retry-After'),
    content: problemContent(undefined),
  }
}

/** What operations end in whose code can refuse anything. */
export function anyProblem(): Part {
  return { ...anyOther(), description: 'Any other problem, with the status that the code of the route gives it.' }
}

/** The media type of problem documents, and their schema. */
export function problemContent(example: Part | undefined): Part {
  const schema = reference('schemas', 'Problem')
  return { 'application/problem+json': { schema, ...(example && { example }) } }
}

/** A problem that has a shape of its own. */
export function renderedProblem(schema: JsonSchema = { type: 'object' }): Part {
  return { 'application/json': { schema } }
}

function exampleOf(type: ProblemType, title: string, status: number): Part {
  return {
    type: `/problems/${type.replaceAll('_', '-')}`,
    title,
    status,
    detail: title,
    message: title,
    request_id: '3f2c7a52-7d0e-4b5c-9f62-1d1f6a1c8e11',
  }
}
