import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ListNode } from '../../foundation/linked-list.js'
import type { Problem } from '../../foundation/problem.js'
import type { ReceivedBody } from '../connections/receive-budget.js'
import type { Identity } from '../../resource/identity.js'
import type { Context, FindPlace, SourceLocation, ProblemRenderer, Route } from '../route.js'
import { requestIdOf } from './replies/headers.js'
import type { Span } from './spans.js'
import type { Target } from './target.js'
import { readTrace, type Trace } from './trace.js'

/** The state of a request in progress. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly path: string
  readonly search: string
  readonly started: number
  /** Undefined if the service is mounted in another server. */
  readonly connection: Connection | undefined
  /** The route that matched. */
  route: Route | undefined
  /** Who sent the request; undefined without `auth`, and for callers who have not signed in. */
  identity: Identity | undefined
  /** Where the configuration has the grants that allow the operation; undefined without `auth`, and where none does. */
  grants: readonly string[] | undefined
  /** Why the caller may not do this, for the log. */
  denied: string | undefined
  /** The trace from the client, or of the request's span. */
  trace: Trace | undefined
  /** Set if tracing is on. */
  span: Span | undefined
  /** Whether the client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean
  /** Whether the connection is closed after this response, because later bytes cannot be parsed or are not wanted. */
  mustClose: boolean
  /** Aborts reading the body, while it is being read. */
  failBody: ((problem: Problem) => void) | undefined
  /** The room that the body takes, once its bytes are read. */
  body: ReceivedBody | undefined
  /** Whether the handler is running, which it may after the response. */
  isHandling: boolean
  /** When the body was complete, if the handler had to wait for it; otherwise 0. */
  bodyEnded: number
  /** Bytes of the response that the client has not read yet. */
  unread: number
  /** Its place among the exchanges with a deadline. */
  watched: ListNode<Watched> | undefined
  /** Whether the request timed out: it can commit nothing any more. */
  expired: boolean
  /** Whether the deadline has passed during a write: no other write may start. */
  overdue: boolean
  /** Transactions in progress. */
  transactions: number
  /** Commits, and writes outside transactions, with a pending outcome. */
  writes: number
  /** Whether a change is stored, or may be. */
  stored: boolean
  /** Aborts the transactions that are not committing yet; created for the first one. */
  ending: AbortController | undefined
  /** Values set by middleware for the handlers; created for the first one. */
  values: Map<symbol, unknown> | undefined
  /** Queries of a plugin that are in progress, or that took too long; created for the first one. */
  statements: Set<{ readonly text: string }> | undefined
  /** The plugin code that is running inside a generated operation. */
  code: PluginCode | undefined
}

interface Begun extends Pick<Exchange, 'request' | 'response' | 'connection' | 'awaitsContinue'> {
  readonly target: Target
}

/** The state of a request whose head has arrived. All properties are set, so that V8 sees one shape. */
export function newExchange({ request, response, target, connection, awaitsContinue }: Begun): Exchange {
  return {
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
    body: undefined,
    isHandling: false,
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
}

/** An exchange with a deadline, and the `performance.now()` at which its time started. */
export interface Watched {
  readonly exchange: Exchange
  readonly since: number
}

/** Plugin code as shown in the log. */
export interface PluginCode {
  /** For example `afterCreate`. */
  readonly hook: string
  readonly place: FindPlace
}

/** Returns the plugin code that a request waits for, for the log. */
export function codeUnderWay({ code, route }: Exchange): { readonly hook?: string; readonly place?: string } {
  const place = (code ?? route)?.place?.()
  return { ...(code && { hook: code.hook }), ...toPlace(place) }
}

/** The query of a plugin that a request waits for, or that took too long, for the log. */
export function statementUnderWay({ statements }: Exchange): { readonly statement?: string } {
  const [first] = statements ?? []
  return first ? { statement: first.text } : {}
}

/** Formats a place for the log. */
export function toPlace(place: SourceLocation | undefined): { readonly place?: string } {
  return place ? { place: `${place.file}:${place.line}` } : {}
}

/** Stores the exchange of a request in its contexts; not for plugins. */
export const EXCHANGE = Symbol('exchange')

/** @returns undefined for a context that none of our servers created */
export function exchangeOf(context: Context): Exchange | undefined {
  return (context as Context & { readonly [EXCHANGE]?: Exchange })[EXCHANGE]
}

/** The state of a client's connection, which keeps responses in the order of requests even if it breaks. */
export interface Connection {
  /** Requests in progress, in order of arrival. */
  readonly underWay: Exchange[]
  /** Requests that wait because too many are in progress. */
  readonly waiting: Parked[]
  /** Whether reading from the client is paused because of them. */
  paused: boolean
  /** Whether a listener keeps the connection paused. */
  isKeptPaused: boolean
  /** Bytes of responses that the client has not read yet. */
  unread: number
  /** All requests so far. */
  count: number
  latest: Exchange | undefined
  /** No more requests are accepted on the connection. */
  closing: boolean
  /** Sent when no request is in progress. */
  rejection: Rejection | undefined
  /** Becomes `rejection` once all earlier requests have started. */
  broken: Rejection | undefined
}

/** A request that starts when earlier ones make room, unless its connection closes first. */
export interface Parked {
  readonly method: string
  start(): void
  drop(): void
}

/** A problem with bytes that were not parsed as a request, and its renderer. */
export interface Rejection {
  readonly problem: Problem
  readonly render: ProblemRenderer | undefined
}

/** Whether no other response is possible: one has begun, or the client has left. */
export function isSettled({ response }: Exchange): boolean {
  return response.headersSent || response.destroyed
}

/** Returns the room of the body once the response is closed, the handler has ended, and no more of the body is read. */
export function returnRoom({ response, body, failBody, isHandling }: Exchange): void {
  if (response.destroyed && !isHandling && !failBody) body?.release()
}

/** Whether the body of a request in progress takes room. */
export function holdsBody(connection: Connection | undefined): boolean {
  return connection?.underWay.some(({ body }) => body !== undefined && body.held() > 0) ?? false
}

/** Stops accepting requests on a connection; the current response is its last. */
export function endConnection(connection: Connection): void {
  connection.closing = true
  connection.broken = undefined
}
