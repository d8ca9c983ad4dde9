import type { Id, Precondition, Row } from '../../resource/plan.js'
import type { BodyMode } from '../../resource/bodies/body.js'
import type { Resource } from '../../resource/resource.js'
import { recordTag } from '../headers/entity-tags.js'
import type { Method } from '../route.js'
import type { Operation } from './operation.js'
import { isHidden, notFound, policyOf, preconditions, readId } from './request.js'

/** A request to update a record. */
export interface UpdateInput {
  readonly id: Id
  /** The validated body. */
  readonly values: Row
  /** The accepted versions of the record; undefined for any. */
  readonly only: readonly Precondition[] | undefined
}

/** PUT replaces a record; in some dialects it changes only the given fields. */
export function update(resource: Resource): Operation<UpdateInput, string | undefined> {
  const mode = resource.spec.dialect?.put === 'merge' ? 'assign' : 'replace'
  return change(resource, { name: 'update', method: 'PUT', mode })
}

/** PATCH changes the given fields. */
export function partialUpdate(resource: Resource): Operation<UpdateInput, string | undefined> {
  return change(resource, { name: 'partial_update', method: 'PATCH', mode: 'update' })
}

interface Form {
  readonly name: 'update' | 'partial_update'
  readonly method: Method
  readonly mode: BodyMode
}

/** Validates the body before the id. */
function change(resource: Resource, { name, method, mode }: Form): Operation<UpdateInput, string | undefined> {
  const body = policyOf(resource, name)
  return {
    name,
    method,
    on: 'item',
    body,
    async read(context) {
      const values = resource.parseBody(await context.body(body), mode)
      const only = preconditions(resource, context)
      return { id: readId(resource, context), values, only }
    },
    run: ({ id, values, only }, context) => context.documents(resource).update(id, values, only),
    reply(item) {
      const text = item ?? notFound()
      if (isHidden(resource, text)) return { status: 204 }
      return { status: 200, text, headers: { ETag: recordTag(resource.split(text)) } }
    },
  }
}
