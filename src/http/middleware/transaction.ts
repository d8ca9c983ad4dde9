import type { Stage } from './endpoint.js'

/** Runs the operation in a transaction, which is rolled back when the operation fails, its hooks, or its response. */
export const transaction: Stage = (next, { transaction: options }) =>
  options ? (context, input) => context.transaction(async (inside) => next(inside, input), options) : next
