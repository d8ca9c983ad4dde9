import { exchangeOf } from '../server/exchange.js'
import { checkReply } from '../registrations/require-reply.js'
import type { FindPlace, Handler, PlacedMiddleware } from '../route.js'
import type { Stage, Step } from './endpoint.js'

/** Runs the middleware of plugins, in the order of registration. */
export const plugins: Stage = (next, { middleware = [] }) => middleware.reduceRight(surround, next)

/** Surrounds a handler that is not an operation with the middleware of plugins. */
export function surroundHandler(handle: Handler, middleware: readonly PlacedMiddleware[]): Handler {
  const step = middleware.reduceRight<Step>(surround, handle)
  return (context) => step(context)
}

function surround(next: Step, { middleware, place }: PlacedMiddleware): Step {
  const code = { hook: 'use', place }
  return async (context, input) => {
    const exchange = exchangeOf(context)
    // Lets the log name the middleware that the request is waiting for.
    const wait = (isWaiting: boolean) => {
      if (exchange) exchange.code = isWaiting ? code : undefined
    }
    let isCalled = false
    wait(true)
    const reply: unknown = await middleware(context, async () => {
      if (isCalled) throw new Error(`${nameOf(place)} called next() twice for one request`)
      isCalled = true
      wait(false)
      const reply = await next(context, input)
      wait(true)
      return reply
    })
    const checked = checkReply(reply, () => nameOf(place))
    wait(false)
    return checked
  }
}

function nameOf(place: FindPlace): string {
  const found = place()
  return found ? `the middleware of ${found.file}:${found.line}` : 'a middleware'
}
