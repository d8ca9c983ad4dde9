import { PROBLEMS, type Problem } from '../../problem.js'
import type { ProblemRenderer, Reply } from '../route.js'

/**
 * The answer to a request that cannot be done: a problem document (RFC 9457), or what `render` makes of the problem.
 * It tells the client the detail and the faults and nothing else.
 */
export function toReply(problem: Problem, requestId: string, render?: ProblemRenderer): Reply {
  const { status } = PROBLEMS[problem.type]
  if (render) return { status, headers: problem.headers, body: render(problem) }
  const headers = { ...problem.headers, 'Content-Type': 'application/problem+json' }
  return { status, headers, body: toDocument(problem, requestId) }
}

function toDocument(problem: Problem, requestId: string): object {
  const { type, message, faults } = problem
  const { status, title } = PROBLEMS[type]
  return {
    type: `/problems/${type.replaceAll('_', '-')}`,
    title,
    status,
    detail: message,
    message,
    // `fromEntries` makes own properties of any name, `__proto__` included.
    ...(faults.length > 0 && { errors: Object.fromEntries(faults.map((fault) => [fault.field, fault.message])) }),
    request_id: requestId,
  }
}
