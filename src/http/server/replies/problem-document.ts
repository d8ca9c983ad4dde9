import { PROBLEMS, type Problem, uriOf } from '../../../foundation/problem.js'
import type { ProblemRenderer, Reply } from '../../route.js'

/** Builds the response for a problem: a problem document (RFC 9457), or the result of `render`. Clients see only the detail and the errors. */
export function toReply(problem: Problem, requestId: string, render?: ProblemRenderer): Reply {
  const { status } = PROBLEMS[problem.type]
  if (render) return { status, headers: problem.headers, body: render(problem) }
  const headers = { ...problem.headers, 'Content-Type': 'application/problem+json' }
  return { status, headers, body: toDocument(problem, requestId) }
}

function toDocument(problem: Problem, requestId: string): object {
  const { type, message, errors } = problem
  const { status, title } = PROBLEMS[type]
  return {
    type: uriOf(type),
    title,
    status,
    detail: message,
    message,
    // `fromEntries` creates own properties for any name, including `__proto__`.
    ...(errors.length > 0 && { errors: Object.fromEntries(errors.map((error) => [error.field, error.message])) }),
    request_id: requestId,
  }
}
