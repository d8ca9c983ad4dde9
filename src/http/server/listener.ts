import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Next } from '../registrations/plugin.js'
import type { Match, RouteTable } from '../route-table.js'
import { type Answering, createAnswering } from './answering.js'
import { abortOnClose, enter, release, settle } from '../connections/connection.js'
import { type Connection, type Exchange, newExchange, returnRoom } from './exchange.js'
import { findHeadProblem, takeAuthority } from './replies/headers.js'
import { createMethodAnswer, createOwnMethodAnswer } from './replies/options-reply.js'
import { createPassOn, type PassingParts } from './pass-on.js'
import type { Pipeline } from '../connections/pipeline.js'
import { describe, describeHeldRoom, statusOf } from './request-log.js'
import { createRouteRunner, type RouteParts } from './run-route.js'
import { splitTarget, type Target } from './target.js'

/** The dependencies of a listener. */
export interface ListenerParts extends RouteParts, PassingParts {
  readonly routes: Pick<RouteTable, 'match' | 'rendererAt' | 'reverse'>
  readonly pipeline: Pipeline
  readonly connectionOf: (socket: Socket) => Connection | undefined
}

/** `next` is given if the service is mounted in another server; it takes requests that nothing here answers. */
export type Listener = (request: IncomingMessage, response: ServerResponse, next?: Next) => void

/**
 * Handles every request: route table, context, handler, response. All errors end in `fail` of answering.ts. `receiveExpecting` handles requests whose
 * client waits for `100 Continue`.
 */
export function createListener(parts: ListenerParts): {
  readonly receive: Listener
  readonly receiveExpecting: Listener
} {
  const { pipeline, uses } = parts
  const start = createStart(parts)

  const receive = (request: IncomingMessage, response: ServerResponse, next?: Next, awaitsContinue = false): void => {
    const connection = parts.connectionOf(request.socket)
    // An earlier response closes the connection, so this request cannot be answered.
    if (connection?.closing) return
    uses.begin()
    const { method = '' } = request
    if (!connection || pipeline.admits(connection, method)) return start(request, response, next, awaitsContinue)
    const startNow = () => start(request, response, next, awaitsContinue)
    pipeline.park(connection, request.socket, { method, start: startNow, drop: uses.end })
  }

  return {
    receive: (request, response, next) => receive(request, response, next),
    receiveExpecting: (request, response) => receive(request, response, undefined, true),
  }
}

type Start = (
  request: IncomingMessage,
  response: ServerResponse,
  next: Next | undefined,
  awaitsContinue: boolean,
) => void

/** Starts a request: finds its route, validates its head and origin, and hands it to its handler. */
function createStart(parts: ListenerParts): Start {
  const { routes, fallback, pages, checkOrigin, limits, uses } = parts
  const answering = createAnswering(parts)
  const { fail } = answering
  const begin = createBegin(parts, answering)
  const answerMethod = createMethodAnswer(parts, answering)
  const answerOwnMethod = createOwnMethodAnswer(parts, answering, answerMethod)
  const runRoute = createRouteRunner(parts, answering)

  const find = (method: string, path: string): Match =>
    routes.match(method, path) ?? (fallback ? undefined : pages?.match(method, path))
  const serve = (exchange: Exchange, match: NonNullable<Match>): void => {
    // An unsupported method writes nothing, so its origin does not matter.
    const foreign = checkOrigin(exchange.request, 'allow' in match || match.route.crossSite)
    if (foreign) fail(exchange, foreign)
    else if ('allow' in match) answerOwnMethod(exchange, match.allow, match.options)
    else runRoute(exchange, match)
  }
  const passOn = createPassOn(parts, answering, { answerMethod, serve })

  return (request, response, next, awaitsContinue) => {
    const target = splitTarget(request.url ?? '')
    const match = target.path.startsWith('/') ? find(request.method ?? '', target.path) : undefined
    if (!match && !fallback && next) {
      uses.end()
      return next()
    }
    const exchange = begin(request, response, target, awaitsContinue)
    const { authority } = target
    const problem =
      findHeadProblem(request, limits.headers) ??
      (authority === undefined ? undefined : takeAuthority(request, authority))
    if (problem) {
      exchange.mustClose = true
      fail(exchange, problem)
    } else if (match) serve(exchange, match)
    else passOn(exchange, next)
  }
}

type Begin = (request: IncomingMessage, response: ServerResponse, target: Target, awaitsContinue: boolean) => Exchange

/** Counts a request until its response is closed, and logs it then. */
function createBegin(parts: ListenerParts, { deadlines }: Answering): Begin {
  const { pipeline, uses, log, limits, traffic } = parts
  const abortIfClosed = abortOnClose()
  const reportHeldRoom = (exchange: Exchange): void => {
    const entry = describeHeldRoom(exchange)
    if (entry) log.error(entry)
  }
  return (request, response, target, awaitsContinue) => {
    const { socket } = request
    const connection = parts.connectionOf(socket)
    const exchange = newExchange({ request, response, target, connection, awaitsContinue })
    if (connection) {
      enter(connection, exchange, limits)
      pipeline.started(connection)
    } else abortIfClosed(response, socket)
    if (traffic) traffic.open += 1
    // A mounted listener may write after the end; without a listener for the error, the process would end.
    response.on('error', (cause) => log.error({ event: 'failure', request_id: exchange.requestId, cause }))
    response.once('close', () => {
      uses.end()
      deadlines.stop(exchange)
      if (exchange.unread > 0) parts.budget.release(exchange.unread)
      returnRoom(exchange)
      if (describeHeldRoom(exchange)) setTimeout(reportHeldRoom, limits.handlerTimeout, exchange).unref()
      const ended = performance.now()
      log.info(describe(exchange, ended))
      exchange.span?.end(statusOf(exchange))
      if (traffic) {
        traffic.open -= 1
        const counted = traffic.of(exchange.route)
        counted.count(statusOf(exchange), ended - exchange.started)
        if (parts.access) counted.countAccess(statusOf(exchange))
      }
      if (!connection) return
      release(connection, exchange)
      pipeline.ended(connection)
      pipeline.proceed(connection, socket)
      settle(connection, socket, limits)
    })
    return exchange
  }
}
