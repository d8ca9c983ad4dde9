import type { IncomingMessage } from 'node:http'
import type { Route } from '../route.js'
import type { Trace } from './trace.js'

/** The span of one request in a tracing system. */
export interface Span {
  /** The trace for handlers and the log. */
  readonly trace: Trace
  /** Runs work with this span as its parent. */
  run<Result>(work: () => Result): Result
  /** `status` is undefined if no response was begun. */
  end(status: number | undefined): void
}

/** A tracing system. */
export interface Spans {
  begin(request: IncomingMessage, route: Route, requestId: string): Span
}
