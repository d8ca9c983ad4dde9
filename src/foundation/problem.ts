/** Every way in which a request can fail, with its HTTP status and title. The only table of error statuses. */
export const PROBLEMS = {
  malformed_request: { status: 400, title: 'Malformed request' },
  malformed_body: { status: 400, title: 'Malformed body' },
  validation: { status: 400, title: 'Validation failed' },
  invalid_query: { status: 400, title: 'Invalid query parameter' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  cross_site_request: { status: 403, title: 'Cross-site request' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'Not acceptable' },
  request_timeout: { status: 408, title: 'Request timeout' },
  conflict: { status: 409, title: 'Conflict' },
  request_in_progress: { status: 409, title: 'Request in progress' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  body_too_large: { status: 413, title: 'Content too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  expectation_failed: { status: 417, title: 'Expectation failed' },
  misdirected_request: { status: 421, title: 'Misdirected request' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key reused' },
  precondition_required: { status: 428, title: 'Precondition required' },
  too_many_requests: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'Request header fields too large' },
  internal: { status: 500, title: 'Internal server error' },
  unsupported_transfer: { status: 501, title: 'Not implemented' },
  unavailable: { status: 503, title: 'Service unavailable' },
  timeout: { status: 504, title: 'Gateway timeout' },
  outcome_unknown: { status: 504, title: 'Outcome unknown' },
  unsupported_version: { status: 505, title: 'HTTP version not supported' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemType = keyof typeof PROBLEMS

/** The `type` of a problem document (RFC 9457). */
export function uriOf(type: string): string {
  return `/problems/${type.replaceAll('_', '-')}`
}

/** An error of one field. `message` is a whole sentence; by convention, it begins with the field's label. */
export interface FieldError {
  readonly field: string
  readonly message: string
}

interface ProblemParts {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/**
 * A failed request. It may be thrown anywhere; only `toReply` in `http/server/replies/problem-document.ts` turns it into a response. Clients see
 * `detail` and `errors`; `cause` is only logged. It has no stack, unless it is a bug of ours: a rejected request is not a bug, and capturing the stack
 * would cost more than the rest of the rejection.
 */
export class Problem extends Error {
  readonly type: ProblemType
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(type: ProblemType, detail?: string, { errors = [], headers = {}, cause }: ProblemParts = {}) {
    // The compiler does not check plugins in JavaScript.
    if (!Object.hasOwn(PROBLEMS, type)) throw new TypeError(`there is no problem type ${String(type)}`)
    const { stackTraceLimit } = Error
    if (type !== 'internal') Error.stackTraceLimit = 0
    super(detail ?? PROBLEMS[type].title, { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Problem'
    this.type = type
    this.errors = errors
    this.headers = headers
  }

  get status(): number {
    return PROBLEMS[this.type].status
  }

  get title(): string {
    return PROBLEMS[this.type].title
  }
}

/**
 * The `Problem` that plugins construct. It has a stack, because the log must show the line if nothing handles it. Problems of the framework are
 * instances of it, so that plugins can distinguish them from other errors.
 */
export class PluginProblem extends Problem {
  static override [Symbol.hasInstance](value: unknown): boolean {
    // Classes of plugins that extend this one inherit the method, and have their own instances.
    return this === PluginProblem ? value instanceof Problem : Function.prototype[Symbol.hasInstance].call(this, value)
  }

  constructor(...given: ConstructorParameters<typeof Problem>) {
    super(...given)
    Error.captureStackTrace(this, PluginProblem)
  }
}
