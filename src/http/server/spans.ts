import type { IncomingMessage } from 'node:http'
import type { Route } from '../route.js'
import type { Trace } from './trace.js'

/** One request, as a tracing system sees it. */
export interface Span {
  /** What handlers and the log are told of it. */
  readonly trace: Trace
  /** Runs the work so that what it records belongs to this span. */
  run<Result>(work: () => Result): Result
  /** `status` is undefined when no answer was begun. */
  end(status: number | undefined): void
}

/** A tracing system that somebody has set up. */
export interface Spans {
  begin(request: IncomingMessage, route: Route, requestId: string): Span
}
