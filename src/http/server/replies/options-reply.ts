import { Problem } from '../../../foundation/problem.js'
import { type Method, METHODS, type Reply, type RouteOptions } from '../../route.js'
import type { Answering, AnsweringParts } from '../answering.js'
import type { Exchange } from '../exchange.js'
import { optionsFor, type ServedAccess } from '../served-access.js'

interface OptionsParts extends AnsweringParts {
  readonly access?: ServedAccess | undefined
}

/** Answers requests whose path has routes, but none for their method. */
export type AnswerMethod = (exchange: Exchange, methods: readonly Method[], options?: RouteOptions) => void

/** `OPTIONS` is answered; other methods are 405. */
export function createMethodAnswer(parts: OptionsParts, { answer, fail }: Answering): AnswerMethod {
  return (exchange, methods, options) => {
    const Allow = allowed(methods)
    if (exchange.request.method === 'OPTIONS') {
      const preflight = parts.cors?.preflight(exchange.request, Allow)
      return answer(exchange, preflight ? { status: 204, headers: preflight } : toOptionsReply(Allow, options))
    }
    fail(exchange, new Problem('method_not_allowed', `this path only allows ${Allow}`, { headers: { Allow } }))
  }
}

/** With `auth`, `OPTIONS` says what the caller may do. Preflights, which carry no credential, learn only which methods the path has. */
export function createOwnMethodAnswer(
  { access }: OptionsParts,
  { fail, deadlines }: Answering,
  answerMethod: AnswerMethod,
): AnswerMethod {
  return (exchange, methods, options) => {
    const { request, path } = exchange
    const isPreflight = request.headers['access-control-request-method'] !== undefined
    if (!access || request.method !== 'OPTIONS' || !access.isOwn(path)) return answerMethod(exchange, methods, options)
    if (isPreflight) return answerMethod(exchange, methods)
    deadlines.start(exchange)
    optionsFor(access, request, path).then(
      (own) => answerMethod(exchange, own.allow, own.options),
      (error: unknown) => fail(exchange, error),
    )
  }
}

function allowed(methods: readonly Method[]): string {
  return METHODS.filter((method) => methods.includes(method))
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .concat('OPTIONS')
    .join(', ')
}

function toOptionsReply(Allow: string, options: RouteOptions | undefined): Reply {
  if (!options) return { status: 204, headers: { Allow } }
  return { status: 200, headers: { Allow, ...options.headers }, body: options.describe() }
}
