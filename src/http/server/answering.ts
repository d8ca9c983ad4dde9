import { Readable } from 'node:stream'
import { isMismatch, lacksPrivilege, mismatchProblem, rejectionOf } from '../../db/driver/errors.js'
import { outcomeUnknown } from '../../db/driver/outcome.js'
import { UnreadableCell } from '../../fields/cell.js'
import { Problem, PROBLEMS } from '../../foundation/problem.js'
import { createDeadlines, type Deadlines } from '../connections/deadlines.js'
import { codeUnderWay, type Exchange, isSettled, statementUnderWay } from './exchange.js'
import type { Log } from '../log.js'
import { requestEnded } from '../outcomes.js'
import { toReply } from './replies/problem-document.js'
import { cutOff, type Situation, sendReply, type WrittenReply } from './replies/reply.js'
import type { RouteTable } from '../route-table.js'
import type { Traffic } from '../connections/traffic.js'
import type { Uses } from './usage-count.js'

export interface AnsweringParts extends Situation {
  readonly routes: Pick<RouteTable, 'rendererAt'>
  readonly log: Log
  readonly traffic?: Traffic | undefined
  /** Counts requests, handlers, streams and after-commit tasks in progress. */
  readonly uses: Uses
  /** Called when a table differs from its model, or (not `sure`) may have been altered. */
  readonly onMismatch?: ((sure: boolean) => void) | undefined
}

/** Sends the response to a request. Only the first call takes effect; later calls are ignored. */
export interface Answering {
  answer(exchange: Exchange, reply: WrittenReply): void
  /** Responds with a problem. Any other error is a bug: its cause is logged and not shown to the client. */
  fail(exchange: Exchange, error: unknown): void
  /** Calls `fail` for exchanges that exceed their deadline. */
  readonly deadlines: Deadlines
}

export function createAnswering(parts: AnsweringParts): Answering {
  const { routes, log, limits, uses } = parts

  const answer = (exchange: Exchange, reply: WrittenReply): void => {
    if (isSettled(exchange)) {
      // Nobody will read it, so its file would stay open.
      if (reply.stream instanceof Readable) reply.stream.destroy()
      return
    }
    try {
      if (reply.stream !== undefined) deadlines.start(exchange)
      const sending = sendReply(exchange, reply, parts)
      if (!sending) return
      uses.begin()
      sending.catch((error: unknown) => fail(exchange, error)).finally(uses.end)
    } catch (error) {
      fail(exchange, error)
    }
  }

  const fail = (exchange: Exchange, error: unknown): void => {
    const { response, requestId, path, trace } = exchange
    // Already logged: this is the handler's reaction to the timeout.
    if (exchange.expired && error === exchange.ending?.signal.reason) return
    const problem = toProblem(exchange, error)
    if (isOurs(problem)) {
      log.error({
        event: 'failure',
        request_id: requestId,
        trace_id: trace?.traceId,
        route: exchange.route?.name,
        type: problem.type,
        ...(exchange.overdue && codeUnderWay(exchange)),
        ...statementUnderWay(exchange),
        cause: problem.cause,
      })
    }
    if (parts.access && (problem.type === 'unauthorized' || problem.type === 'forbidden'))
      exchange.denied = problem.message
    // An error of ours may come from a cell that is not of its field's type. Tables need not be compared for a missing right, which their digest shows,
    // nor for a mismatch without a cause, which the gate of the tables reports itself.
    if (isMismatch(problem) || problem.type === 'internal')
      parts.onMismatch?.(isMismatch(problem) && problem.cause !== undefined && !lacksPrivilege(problem))
    if (isGap(problem)) reportGap(exchange, problem)
    reportRejection(exchange, problem)
    if (response.headersSent && !response.writableEnded) cutOff(exchange)
    if (isSettled(exchange)) return
    try {
      // Not a stream, so there is nothing to wait for.
      void sendReply(exchange, toReply(problem, requestId, routes.rendererAt(path)), parts)
    } catch (cause) {
      log.error({ event: 'failure', request_id: requestId, route: exchange.route?.name, type: 'internal', cause })
      void sendReply(exchange, toReply(new Problem('internal'), requestId), parts)
    }
  }

  const reportGap = ({ requestId, route }: Exchange, { cause }: Problem): void => {
    if (parts.traffic) parts.traffic.gaps += 1
    const { code, table, constraint } = cause as Readonly<Record<string, unknown>>
    // The value fits the field but not the column.
    if (String(code).startsWith('22')) parts.onMismatch?.(true)
    log.info({ event: 'validator_gap', request_id: requestId, route: route?.name, code, table, constraint })
  }

  const reportRejection = ({ requestId, route }: Exchange, problem: Problem): void => {
    const rejection = rejectionOf(problem)
    if (rejection) log.info({ event: 'change_rejected', request_id: requestId, route: route?.name, ...rejection })
  }

  const seconds = limits.handlerTimeout / 1000
  const deadlines = createDeadlines(limits.handlerTimeout, (exchange) => {
    fail(exchange, new Problem('timeout', `the request took longer than ${seconds} seconds`, { headers: RETRY }))
    exchange.ending ??= new AbortController()
    exchange.ending.abort(requestEnded())
  })

  return { answer, fail, deadlines }
}

const RETRY = { 'Retry-After': '1' }
const PARTLY_DONE =
  'The request failed after some of its changes were stored. Read the records to see which; repeating the request is safe only with an Idempotency-Key that this endpoint supports'

/** The problem for the client. If something was stored, it must not suggest that the request can be retried. */
function toProblem({ stored }: Exchange, error: unknown): Problem {
  if (error instanceof UnreadableCell) return mismatchProblem(error)
  // A class of a plugin may have set another type.
  if (!(error instanceof Problem && Object.hasOwn(PROBLEMS, error.type)))
    return new Problem('internal', undefined, { cause: error })
  if (!stored || !(error.type === 'timeout' || error.type === 'unavailable')) return error
  return outcomeUnknown(error.cause ?? error, PARTLY_DONE)
}

/** Whether the database rejected a value that validation had accepted. Problems thrown by validation have no cause. */
function isGap({ type, cause }: Problem): boolean {
  return type === 'validation' && cause instanceof Error && 'code' in cause
}

/** Whether a problem is logged: it is a failure of ours rather than a rejection. */
function isOurs({ type, status, cause }: Problem): boolean {
  return type === 'internal' || type === 'timeout' || (status >= 500 && cause !== undefined)
}
