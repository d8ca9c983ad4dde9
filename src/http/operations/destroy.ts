import type { Id, Precondition } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Context } from '../route.js'
import type { Operation } from './operation.js'
import { isHidden, notFound, preconditions, readId } from './request.js'

/** A request to delete a record. */
export interface DestroyInput {
  readonly id: Id
  /** The accepted versions of the record; undefined for any. */
  readonly only: readonly Precondition[] | undefined
}

/** DELETE. Some dialects return the deleted record. */
export function destroy(resource: Resource): Operation<DestroyInput> {
  return resource.spec.dialect?.destroyed === 'record' ? returningRecord(resource) : returningNothing(resource)
}

function returningNothing(resource: Resource): Operation<DestroyInput, boolean> {
  return {
    ...requestPart(resource),
    run: ({ id, only }, context) => context.documents(resource).destroy(id, only),
    reply: (destroyed) => (destroyed ? { status: 204 } : notFound()),
  }
}

function returningRecord(resource: Resource): Operation<DestroyInput, string | undefined> {
  return {
    ...requestPart(resource),
    run: ({ id, only }, context) => context.documents(resource).take(id, only),
    reply(item) {
      const text = item ?? notFound()
      return isHidden(resource, text) ? { status: 204 } : { status: 200, text }
    },
  }
}

function requestPart(resource: Resource) {
  return {
    name: 'destroy',
    method: 'DELETE',
    on: 'item',
    read(context: Context): DestroyInput {
      const only = preconditions(resource, context)
      return { id: readId(resource, context), only }
    },
  } as const
}
