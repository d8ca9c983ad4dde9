import type { AfterCommit } from '../registrations/after-commit.js'
import { makeContext } from '../context.js'
import type { Surroundings } from '../context-state.js'
import type { ReceiveBudget } from '../connections/receive-budget.js'
import type { PublicUrl } from '../headers/public-url.js'
import type { Records } from '../records.js'
import type { Handler } from '../route.js'
import type { Match, RouteTable } from '../route-table.js'
import type { Answering, AnsweringParts } from './answering.js'
import { compressReply } from './replies/compression.js'
import { type Exchange, isSettled, returnRoom } from './exchange.js'
import { identify, type ServedAccess } from './served-access.js'
import type { Spans } from './spans.js'

/** The parts of the service that a route runs with. */
export interface RouteParts extends AnsweringParts {
  readonly routes: Pick<RouteTable, 'rendererAt' | 'reverse'>
  readonly records: Records
  /** Undefined without `auth`. */
  readonly access?: ServedAccess | undefined
  readonly later: AfterCommit
  /** The URL under which clients reach the service; undefined if unknown. */
  readonly publicUrl?: PublicUrl | undefined
  /** Whether successful responses are compressed. */
  readonly compression?: boolean | undefined
  readonly spans?: Spans | undefined
  readonly bodies: ReceiveBudget
}

export type Found = Extract<Match, { readonly route: unknown }>

/** Finds the caller, runs the handler of a route and sends its response. */
export function createRouteRunner(parts: RouteParts, answering: Answering): (exchange: Exchange, found: Found) => void {
  const { access, compression, spans, uses } = parts
  const { answer, fail, deadlines } = answering
  const surroundings = surroundingsOf(parts, answering)

  const handle = (exchange: Exchange, { route, params }: Found): ReturnType<Handler> =>
    route.handle(makeContext(exchange, params, surroundings))
  const trace = (exchange: Exchange, found: Found, spans: Spans): ReturnType<Handler> => {
    const span = spans.begin(exchange.request, found.route, exchange.requestId)
    exchange.span = span
    exchange.trace = span.trace
    return span.run(() => handle(exchange, found))
  }
  const compressed = async (exchange: Exchange, handled: ReturnType<Handler>) => {
    const reply = await handled
    return isSettled(exchange) ? reply : compressReply(reply, exchange.request, parts.budget)
  }

  return (exchange, found) => {
    exchange.route = found.route
    try {
      const run = () => (spans ? trace(exchange, found, spans) : handle(exchange, found))
      const identified = access && identify(exchange, access.authenticate)
      const handled = identified ? identified.then(run) : run()
      const outcome = compression ? compressed(exchange, handled) : handled
      if (!('then' in outcome)) return answer(exchange, outcome)
      deadlines.start(exchange)
      // The handler may continue after the client has left or the request timed out.
      uses.begin()
      exchange.isHandling = true
      const end = () => {
        exchange.isHandling = false
        returnRoom(exchange)
        uses.end()
      }
      outcome.then(
        (reply) => {
          answer(exchange, reply)
          end()
        },
        (error: unknown) => {
          fail(exchange, error)
          end()
        },
      )
    } catch (error) {
      fail(exchange, error)
    }
  }
}

function surroundingsOf(parts: RouteParts, { deadlines }: Answering): Surroundings {
  const { routes, records, access, later, limits, publicUrl = () => '', uses } = parts
  return {
    records,
    profiles: access?.profiles,
    reverse: routes.reverse.bind(routes),
    publicUrl,
    runAfterCommit: (...given) => {
      uses.begin()
      return later.run(...given).finally(uses.end)
    },
    watch: deadlines.watch,
    enforce: deadlines.enforce,
    bodies: parts.bodies,
    handlerTimeout: limits.handlerTimeout,
  }
}
