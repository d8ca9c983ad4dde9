import type { Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { ATTEMPT, type WithAttempts } from '../context-state.js'
import type { Context } from '../route.js'
import type { Stage } from './endpoint.js'
import { mergeValues } from './merge-values.js'

/**
 * Runs the replacement of an operation, if a plugin registered one. It may catch an error of the generated operation and go on, whether or not an
 * `Idempotency-Key` has begun a transaction.
 */
export const replacement: Stage = (next, { replacement: replace, resource }) => {
  if (!replace) return next
  return (context, input) => {
    const { [ATTEMPT]: attempt } = context as Context & Partial<WithAttempts>
    const generated = async (changes?: object) => {
      const changed = changes ? withChanges(resource, input ?? {}, changes) : input
      return attempt ? attempt(async (inside) => next(inside, changed)) : next(context, changed)
    }
    return replace({ context, generated, ...input })
  }
}

/** Applies the changes of a replacement to the input of the operation. */
function withChanges(resource: Resource, input: object, changes: object): object {
  const { values } = input as { readonly values?: Row }
  const { values: changed } = changes as { readonly values?: Row }
  if (changed === undefined) return { ...input, ...changes }
  if (values === undefined) throw new Error(`this request to \`${resource.spec.name}\` has no values to change`)
  return { ...input, ...changes, values: mergeValues(resource, values, changed) }
}
