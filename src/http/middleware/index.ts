import type { Operation } from '../operations/operation.js'
import type { Handler, Route } from '../route.js'
import { accept } from './accept.js'
import type { Endpoint, Stage, Step } from './endpoint.js'
import { hooks } from './hooks.js'
import { idempotency } from './idempotency.js'
import { parameters } from './parameters.js'
import { plugins } from './plugins.js'
import { read } from './read.js'
import { replacement } from './replacement.js'
import { transaction } from './transaction.js'

/**
 * The order of middleware, outermost first. Callers and grants are checked before, in `granted-routes.ts`: callers with different grants have
 * chains of their own, and a caller without a grant must not learn from a 406 or a 400 what a route accepts.
 */
const ORDER: readonly Stage[] = [accept, plugins, parameters, idempotency, read, replacement, transaction, hooks]

/** Compiles the handler of an endpoint with the middleware that it needs. */
export function compileEndpoint(endpoint: Endpoint): Required<Pick<Route, 'handle' | 'compile'>> {
  return { handle: compile(endpoint), compile: (middleware) => compile({ ...endpoint, middleware }) }
}

function compile(endpoint: Endpoint): Handler {
  const handle = ORDER.reduceRight((next, stage) => stage(next, endpoint), perform(endpoint.operation))
  return (context) => handle(context)
}

/** The innermost step: parses the request unless a middleware has, runs the operation, and builds the response. */
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
