import type { Stage } from './endpoint.js'

/** Parses the request before plugin code or a transaction starts, so that invalid requests cost no database time. */
export const read: Stage = (next, { operation, replacement, transaction }) => {
  if (!replacement && !transaction) return next
  return async (context, input) => next(context, input ?? (await operation.read(context)))
}
