import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../../problem.js'
import { type AnsweringParts, createAnswering } from './answering.js'
import { enter, release, settle } from './connection.js'
import { askForBody } from './body.js'
import { compressReply } from './compression.js'
import { allowed, toOptionsReply } from './options-reply.js'
import { describe, statusOf } from './request-log.js'
import { identify, optionsFor, type ServedAccess, whyNotMounted } from './served-access.js'
import { makeContext } from '../context.js'
import type { Records } from '../records.js'
import type { Connection, Exchange } from './exchange.js'
import type { Fallback } from './fallback.js'
import type { Pipeline } from './pipeline.js'
import type { Next } from '../plugin.js'
import type { OriginCheck } from '../origin-check.js'
import type { PublicUrl } from '../public-url.js'
import { findHeadProblem, requestIdOf, setDefaultHeaders, setHeaders, takeAuthority } from './headers.js'
import type { AfterCommit } from '../after-commit.js'
import { type Handler, METHODS, type Method, type RouteOptions } from '../route.js'
import type { Match, RouteTable } from '../route-table.js'
import type { Spans } from './spans.js'
import { splitTarget, type Target } from './target.js'
import { readTrace } from './trace.js'

/** The dependencies of a listener. */
export interface ListenerParts extends AnsweringParts {
  readonly routes: Pick<RouteTable, 'match' | 'rendererAt' | 'reverse'>
  readonly records: Records
  /** Undefined without `auth`. */
  readonly access?: ServedAccess | undefined
  readonly later: AfterCommit
  readonly fallback: Fallback | undefined
  /** Used for requests that neither a route nor the fallback takes. */
  readonly pages?: Pick<RouteTable, 'match'> | undefined
  readonly checkOrigin: OriginCheck
  /** The URL under which clients reach the service; undefined if unknown. */
  readonly publicUrl?: PublicUrl | undefined
  /** Whether successful responses are compressed. */
  readonly compression?: boolean | undefined
  readonly spans?: Spans | undefined
  readonly pipeline: Pipeline
  readonly connectionOf: (socket: Socket) => Connection | undefined
}

type Found = Extract<Match, { readonly route: unknown }>

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
  const { routes, records, later, uses, fallback, pages, checkOrigin, log, limits, traffic, spans } = parts
  const { answer, fail, deadlines } = createAnswering(parts)
  const { publicUrl = () => '' } = parts
  const { handlerTimeout } = limits
  const reverse = routes.reverse.bind(routes)
  const runAfterCommit: AfterCommit['run'] = (...given) => {
    uses.begin()
    return later.run(...given).finally(uses.end)
  }
  const { watch, enforce } = deadlines
  const surroundings = {
    records,
    profiles: parts.access?.profiles,
    reverse,
    publicUrl,
    runAfterCommit,
    watch,
    enforce,
    handlerTimeout,
  }

  const receive = (request: IncomingMessage, response: ServerResponse, next?: Next, awaitsContinue = false): void => {
    const connection = parts.connectionOf(request.socket)
    // An earlier response closes the connection, so this request cannot be answered.
    if (connection?.closing) return
    uses.begin()
    if (!connection || parts.pipeline.admits(connection)) return start(request, response, next, awaitsContinue)
    const startNow = () => start(request, response, next, awaitsContinue)
    parts.pipeline.park(connection, request.socket, { start: startNow, drop: uses.end })
  }

  const start = (
    request: IncomingMessage,
    response: ServerResponse,
    next: Next | undefined,
    awaitsContinue: boolean,
  ): void => {
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
      return
    }
    if (match) guardOrigin(exchange, match)
    else passOn(exchange, next)
  }

  const find = (method: string, path: string): Match =>
    routes.match(method, path) ?? (fallback ? undefined : pages?.match(method, path))

  const begin = (
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    awaitsContinue: boolean,
  ): Exchange => {
    const { socket } = request
    const connection = parts.connectionOf(socket)
    const exchange: Exchange = {
      request,
      response,
      requestId: requestIdOf(request),
      path: target.path,
      search: target.search,
      started: performance.now(),
      connection,
      route: undefined,
      trace: readTrace(request.headers),
      identity: undefined,
      span: undefined,
      awaitsContinue,
      mustClose: false,
      failBody: undefined,
      grants: undefined,
      denied: undefined,
      bodyEnded: 0,
      unread: 0,
      watched: undefined,
      expired: false,
      overdue: false,
      transactions: 0,
      writes: 0,
      stored: false,
      ending: undefined,
      statements: undefined,
      values: undefined,
      code: undefined,
    }
    if (connection) {
      enter(connection, exchange, limits)
      parts.pipeline.started(connection)
    }
    if (traffic) traffic.open += 1
    // A mounted listener may write after the end; without a listener for the error, the process would end.
    response.on('error', (cause) => log.error({ event: 'failure', request_id: exchange.requestId, cause }))
    response.once('close', () => {
      uses.end()
      deadlines.stop(exchange)
      if (exchange.unread > 0) parts.budget.release(exchange.unread)
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
      parts.pipeline.ended(connection)
      parts.pipeline.proceed(connection, socket)
      settle(connection, socket, limits)
    })
    return exchange
  }

  const guardOrigin = (exchange: Exchange, match: NonNullable<Match>): void => {
    // An unsupported method writes nothing, so its origin does not matter.
    const foreign = checkOrigin(exchange.request, 'allow' in match || match.route.crossSite)
    if (foreign) fail(exchange, foreign)
    else serve(exchange, match)
  }

  const serve = (exchange: Exchange, match: NonNullable<Match>): void => {
    if ('allow' in match) return answerWithoutRoute(exchange, match.allow, match.options)
    const { route, params } = match
    exchange.route = route
    try {
      const run = () =>
        spans ? trace(exchange, match, spans) : route.handle(makeContext(exchange, params, surroundings))
      const identified = parts.access && identify(exchange, parts.access.authenticate)
      const handled = identified ? identified.then(run) : run()
      const outcome = parts.compression ? compressed(exchange, handled) : handled
      if (!('then' in outcome)) return answer(exchange, outcome)
      deadlines.start(exchange)
      // The handler may continue after the client has left or the request timed out.
      uses.begin()
      outcome.then(
        (reply) => {
          answer(exchange, reply)
          uses.end()
        },
        (error: unknown) => {
          fail(exchange, error)
          uses.end()
        },
      )
    } catch (error) {
      fail(exchange, error)
    }
  }

  const compressed = async ({ request }: Exchange, handled: ReturnType<Handler>) =>
    compressReply(await handled, request, parts.budget)

  const trace = (exchange: Exchange, { route, params }: Found, spans: Spans): ReturnType<Handler> => {
    const span = spans.begin(exchange.request, route, exchange.requestId)
    exchange.span = span
    exchange.trace = span.trace
    return span.run(() => route.handle(makeContext(exchange, params, surroundings)))
  }

  /** `OPTIONS` says what the caller may do; preflights, which carry no credential, only which methods the path has. */
  const answerWithoutRoute = (exchange: Exchange, methods: readonly Method[], options?: RouteOptions): void => {
    const { access } = parts
    const { request, path } = exchange
    const isPreflight = request.headers['access-control-request-method'] !== undefined
    if (!access || request.method !== 'OPTIONS' || !access.isOwn(path)) return rejectMethod(exchange, methods, options)
    if (isPreflight) return rejectMethod(exchange, methods)
    deadlines.start(exchange)
    optionsFor(access, request, path).then(
      (own) => rejectMethod(exchange, own.allow, own.options),
      (error: unknown) => fail(exchange, error),
    )
  }

  const rejectMethod = (exchange: Exchange, methods: readonly Method[], options?: RouteOptions): void => {
    const Allow = allowed(methods)
    if (exchange.request.method === 'OPTIONS') {
      const preflight = parts.cors?.preflight(exchange.request, Allow)
      return answer(exchange, preflight ? { status: 204, headers: preflight } : toOptionsReply(Allow, options))
    }
    fail(exchange, new Problem('method_not_allowed', `this path only allows ${Allow}`, { headers: { Allow } }))
  }

  const passOn = (exchange: Exchange, next: Next | undefined): void => {
    const { request, response, requestId, path, search } = exchange
    const isForServer = request.method === 'OPTIONS' && path === '*'
    if (request.method === 'TRACE' || isForServer) return rejectMethod(exchange, METHODS)
    const nowhere = () =>
      fail(exchange, checkOrigin(request, true) ?? new Problem('not_found', 'there is nothing at this path'))
    if (!fallback || !path.startsWith('/')) return nowhere()
    const before = new Set(response.getHeaderNames())
    setDefaultHeaders(response, requestId, parts.draining() || exchange.awaitsContinue || exchange.mustClose)
    if (parts.cors) setHeaders(response, parts.cors.headersFor(request))
    if (parts.access) response.appendHeader('Vary', parts.access.vary)
    request.url = search === '' ? path : `${path}?${search}`
    deadlines.start(exchange)
    const proceed: Next = (error) => {
      deadlines.stop(exchange)
      if (!response.headersSent)
        for (const name of response.getHeaderNames()) if (!before.has(name)) response.removeHeader(name)
      if (error) return fail(exchange, error instanceof URIError ? new Problem('malformed_request') : error)
      const page = pages?.match(request.method ?? '', path)
      if (page) return guardOrigin(exchange, page)
      return next ? next() : nowhere()
    }
    const pass = (rejects?: (path: string) => Problem | undefined) =>
      fallback(request, response, { take: () => askForBody(exchange), next: proceed, rejects })
    const { access } = parts
    if (!access) return pass()
    const identified = async () => identify(exchange, access.authenticate)
    identified().then(
      () => pass((mount) => whyNotMounted(access, exchange.identity, mount)),
      (error: unknown) => fail(exchange, error),
    )
  }

  return {
    receive: (request, response, next) => receive(request, response, next),
    receiveExpecting: (request, response) => receive(request, response, undefined, true),
  }
}
