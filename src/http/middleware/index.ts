import type { Operation } from '../operations/operation.js'
import type { Handler } from '../route.js'
import { accept } from './accept.js'
import type { Endpoint, Middleware, Step } from './endpoint.js'
import { hooks } from './hooks.js'
import { idempotency } from './idempotency.js'
import { parameters } from './parameters.js'
import { read } from './read.js'
import { replacement } from './replacement.js'
import { transaction } from './transaction.js'

/** The order in which a request passes the middleware, from the outside in. */
const ORDER: readonly Middleware[] = [
  accept,
  // Authentication and authorisation belong here.
  parameters,
  idempotency,
  read,
  replacement,
  transaction,
  hooks,
]

/** Compiles an endpoint to a handler, with the middleware that it needs. */
export function compileEndpoint(endpoint: Endpoint): Handler {
  const handle = ORDER.reduceRight((next, middleware) => middleware(next, endpoint), perform(endpoint.operation))
  return (context) => handle(context)
}

/** The innermost step: runs the operation and makes its response. It reads the request if no middleware needed that before. */
function perform(operation: Operation): Step {
  return async (context, given) => {
    let input = given
    if (input === undefined) {
      const reading = operation.read(context)
      input = reading instanceof Promise ? await reading : reading
    }
    return operation.reply(await operation.run(input, context), context, input)
  }
}
