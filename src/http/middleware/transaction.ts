import type { Middleware } from './endpoint.js'

/** Runs the operation in a transaction, which is rolled back when the operation fails, its hooks, or its response. */
export const transaction: Middleware = (next, { transaction: options }) =>
  options ? (context, input) => context.transaction(async (inside) => next(inside, input), options) : next
