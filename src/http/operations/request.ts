import type { Operation as OperationName } from '../../config/spec.js'
import { Problem } from '../../foundation/problem.js'
import type { Id } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { readPreconditions } from '../headers/entity-tags.js'
import type { BodyPolicy, Context } from '../route.js'

/** Reads the preconditions of a write. */
export function preconditions({ spec }: Resource, { headers }: Context) {
  return readPreconditions(headers, spec.concurrency === 'required')
}

/** How the body of an operation is parsed. */
export function policyOf(resource: Resource, operation: OperationName): BodyPolicy {
  const more = operation === 'partial_update' ? ['application/merge-patch+json'] : []
  const mediaTypes = ['application/json', ...more]
  return { mediaTypes, optional: false, limit: resource.bodyLimit }
}

/**
 * Reads the id from the path. An id that is not canonical matches no record.
 * @throws Problem `not_found`
 */
export function readId(resource: Resource, context: Context): Id {
  return resource.key.parseParams(context.params) ?? notFound()
}

/** @throws Problem `not_found` */
export function notFound(): never {
  throw new Problem('not_found')
}

/** Whether the caller may not see a record that the request has written. */
export function isHidden({ access }: Resource, document: string): boolean {
  return access !== undefined && (document === 'null' || access.retrieve.parts.length === 0)
}
