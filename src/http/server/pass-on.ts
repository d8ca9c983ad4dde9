import { Problem } from '../../foundation/problem.js'
import type { OriginCheck } from '../headers/origin-check.js'
import { setCaller } from '../registrations/caller-of.js'
import type { Next } from '../registrations/plugin.js'
import { METHODS } from '../route.js'
import type { Match, RouteTable } from '../route-table.js'
import type { Answering, AnsweringParts } from './answering.js'
import { askForBody } from './body.js'
import type { Exchange } from './exchange.js'
import type { Fallback } from './fallback.js'
import { setDefaultHeaders, setHeaders } from './replies/headers.js'
import type { AnswerMethod } from './replies/options-reply.js'
import { identify, type ServedAccess, whyNotMounted } from './served-access.js'

/** The parts of the service that answer requests without a route. */
export interface PassingParts extends AnsweringParts {
  readonly access?: ServedAccess | undefined
  readonly fallback: Fallback | undefined
  /** Used for requests that neither a route nor the fallback takes. */
  readonly pages?: Pick<RouteTable, 'match'> | undefined
  readonly checkOrigin: OriginCheck
}

interface Ways {
  readonly answerMethod: AnswerMethod
  /** Answers a request that the pages take. */
  readonly serve: (exchange: Exchange, match: NonNullable<Match>) => void
}

/** Passes a request without a route to mounted routers, then to the pages, then to `next`; otherwise it is 404. */
export function createPassOn(
  parts: PassingParts,
  { fail, deadlines }: Answering,
  { answerMethod, serve }: Ways,
): (exchange: Exchange, next: Next | undefined) => void {
  const { access, fallback, pages, checkOrigin } = parts

  const setHeadersFor = ({ request, response, requestId, awaitsContinue, mustClose }: Exchange): void => {
    setDefaultHeaders(response, requestId, parts.draining() || awaitsContinue || mustClose)
    if (parts.cors) setHeaders(response, parts.cors.headersFor(request))
    if (access) response.appendHeader('Vary', access.vary)
  }

  return (exchange, next) => {
    const { request, response, path, search } = exchange
    const isForServer = request.method === 'OPTIONS' && path === '*'
    if (request.method === 'TRACE' || isForServer) return answerMethod(exchange, METHODS)
    const nowhere = () =>
      fail(exchange, checkOrigin(request, true) ?? new Problem('not_found', 'there is nothing at this path'))
    if (!fallback || !path.startsWith('/')) return nowhere()
    const before = new Set(response.getHeaderNames())
    setHeadersFor(exchange)
    request.url = search === '' ? path : `${path}?${search}`
    deadlines.start(exchange)
    const proceed: Next = (error) => {
      deadlines.stop(exchange)
      if (!response.headersSent)
        for (const name of response.getHeaderNames()) if (!before.has(name)) response.removeHeader(name)
      if (error) return fail(exchange, error instanceof URIError ? new Problem('malformed_request') : error)
      const page = pages?.match(request.method ?? '', path)
      if (page) return serve(exchange, page)
      return next ? next() : nowhere()
    }
    setCaller(request, undefined)
    const pass = (rejects?: (path: string) => Problem | undefined) =>
      fallback(request, response, { take: () => askForBody(exchange), next: proceed, rejects })
    if (!access) return pass()
    const identified = async () => identify(exchange, access.authenticate)
    identified().then(
      () => {
        setCaller(request, exchange.identity)
        pass((mount) => whyNotMounted(access, exchange.identity, mount))
      },
      (error: unknown) => fail(exchange, error),
    )
  }
}
