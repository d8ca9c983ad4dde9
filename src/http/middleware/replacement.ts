import type { Middleware } from './endpoint.js'

/** Runs the code of a plugin in place of the operation. */
export const replacement: Middleware = (next, { replacement: replace }) => {
  if (!replace) return next
  return (context, input) => replace({ context, generated: async () => next(context, input), ...input })
}
