import type { Stage } from './endpoint.js'

/** Runs the operation in a transaction. An error in the operation, its hooks or its response rolls it back. */
export const transaction: Stage = (next, { transaction: options }) =>
  options ? (context, input) => context.transaction(async (inside) => next(inside, input), options) : next
