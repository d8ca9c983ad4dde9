import { invalid } from '../../resource/bodies/body.js'
import { type Change, doAtIndex, parseChanges, sameKey } from '../../resource/bodies/items.js'
import type { Resource } from '../../resource/resource.js'
import type { Operation } from './operation.js'
import { isHidden } from './request.js'
import { arrayOf, itemsOf, lockAll, notFoundAt, rejectConditions, bulkBodyPolicy } from './bulk-request.js'

interface UpdateManyInput {
  readonly changes: readonly Change[]
}

/** Updates the records in the body, in order. */
export function updateMany(resource: Resource): Operation<UpdateManyInput, readonly string[]> {
  const body = bulkBodyPolicy(resource)
  return {
    name: 'partial_update',
    method: 'PATCH',
    on: 'collection',
    body,
    transaction: {},
    async read(context) {
      const changes = parseChanges(resource, itemsOf(await context.body(body)))
      rejectConditions(context)
      return { changes }
    },
    async run({ changes }, context) {
      const ids = changes.map(({ id }) => id)
      await lockAll(resource, context, ids, (_, place, earlier) => invalid(sameKey(resource, place, earlier)))
      const store = context.documents(resource)
      const items: string[] = []
      for (const [place, { id, row }] of changes.entries())
        items.push(
          (await doAtIndex(place, () => store.update(id, row), resource.key.fields)) ??
            notFoundAt(resource, [[place, resource.key.text(id)]]),
        )
      return items
    },
    reply: (items) =>
      items.some((item) => isHidden(resource, item)) ? { status: 204 } : { status: 200, text: arrayOf(items) },
  }
}
