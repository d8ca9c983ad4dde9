import type { Stage } from './endpoint.js'

/** Runs the code of a plugin in place of the operation. */
export const replacement: Stage = (next, { replacement: replace }) => {
  if (!replace) return next
  return (context, input) => replace({ context, generated: async () => next(context, input), ...input })
}
