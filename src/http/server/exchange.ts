import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '../../problem.js'
import type { Context, FindPlace, Place, ProblemRenderer, Route } from '../route.js'
import type { Span } from './spans.js'
import type { Trace } from './trace.js'

/** One request and its answer while it is under way. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly path: string
  readonly search: string
  readonly started: number
  /** undefined when the service is mounted in a server that is not ours. */
  readonly connection: Connection | undefined
  /** The route that matched. */
  route: Route | undefined
  /** What its client named, or its span. */
  trace: Trace | undefined
  /** Where somebody traces requests. */
  span: Span | undefined
  /** Whether the client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean
  /** Whether the connection ends with this answer: what follows on it cannot be understood or is not wanted. */
  mustClose: boolean
  /** While the body is being read: gives it up. */
  failBody: ((problem: Problem) => void) | undefined
  /** When the last of its body arrived, if its handler had to wait for it; otherwise 0. */
  bodyEnded: number
  /** Bytes of its answer that wait for the client. */
  unread: number
  /** Whether it was answered for want of time: what it has not committed by then it never will. */
  expired: boolean
  /** Whether its time is up while a write is under way: it starts no other. */
  overdue: boolean
  /** Transactions under way. */
  transactions: number
  /** Commits, and writes outside of transactions, of which nobody knows yet what comes of them. */
  writes: number
  /** Whether something that it changed is stored, or may be. */
  stored: boolean
  /** Ends its transactions, but for one that is being committed; made for the first of them. */
  ending: AbortController | undefined
  /** What middleware has set for the handlers of the request; made for the first value. */
  values: Map<symbol, unknown> | undefined
  /** The code of a plugin that runs inside of a generated operation. */
  code: PluginCode | undefined
}

/** Code of a plugin, as the log names it. */
export interface PluginCode {
  /** Such as `afterCreate`. */
  readonly hook: string
  readonly place: FindPlace
}

/** The code of a plugin that a request waits for, for the log. */
export function codeUnderWay({ code, route }: Exchange): { readonly hook?: string; readonly place?: string } {
  const place = (code ?? route)?.place?.()
  return { ...(code && { hook: code.hook }), ...toPlace(place) }
}

/** A place as the log shows it. */
export function toPlace(place: Place | undefined): { readonly place?: string } {
  return place ? { place: `${place.file}:${place.line}` } : {}
}

/** Where the contexts of a request have its exchange; plugins have no use for it. */
export const EXCHANGE = Symbol('exchange')

/** @returns undefined for a context that none of our servers made */
export function exchangeOf(context: Context): Exchange | undefined {
  return (context as Context & { readonly [EXCHANGE]?: Exchange })[EXCHANGE]
}

/** What is remembered of a client's connection, so that answers keep the order of requests when it breaks. */
export interface Connection {
  /** Requests under way, in the order in which they came. */
  readonly underWay: Exchange[]
  /** Requests that came while there were too many of them. */
  readonly waiting: Parked[]
  /** Whether nothing is read from the client because of those. */
  paused: boolean
  /** Whether it is seen to that nothing else resumes reading. */
  isKeptPaused: boolean
  /** Bytes of answers that the client has not taken yet. */
  unread: number
  /** Requests that came, those under way included. */
  count: number
  latest: Exchange | undefined
  /** No further request on it is looked at. */
  closing: boolean
  /** Is answered once nothing is under way. */
  refusal: Refusal | undefined
  /** Becomes the refusal once all requests that came before it have started. */
  broken: Refusal | undefined
}

/** A request that starts when those before it leave room, unless its connection ends before. */
export interface Parked {
  start(): void
  drop(): void
}

/** A problem with bytes that became no request, and the form it takes where they were meant to go. */
export interface Refusal {
  readonly problem: Problem
  readonly render: ProblemRenderer | undefined
}

/** Whether it is too late for another answer: one has begun, or the client has gone. */
export function isSettled({ response }: Exchange): boolean {
  return response.headersSent || response.destroyed
}

/** Has no further request of a connection looked at: what is answered now is its last. */
export function endConnection(connection: Connection): void {
  connection.closing = true
  connection.broken = undefined
}
