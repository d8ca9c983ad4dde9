import type { Stored } from '../../db/records/store.js'
import { detailName } from '../../resource/bodies/links.js'
import type { Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { recordTag } from '../headers/entity-tags.js'
import type { Operation } from './operation.js'
import { isHidden, policyOf } from './request.js'

/** A request to create a record; its body is valid. */
export interface CreateInput {
  readonly values: Row
}

export function create(resource: Resource): Operation<CreateInput, Stored<string>> {
  const body = policyOf(resource, 'create')
  const detail = detailName(resource.spec.name)
  return {
    name: 'create',
    method: 'POST',
    on: 'collection',
    body,
    read: async (context) => ({ values: resource.parseBody(await context.body(body), 'create') }),
    run: ({ values }, context) => context.documents(resource).create(values),
    reply({ id, item }, context) {
      const path = context.reverse(detail, resource.key.params(id))
      const Location = path === undefined ? undefined : context.publicUrl() + path
      if (isHidden(resource, item)) return { status: 201, headers: Location === undefined ? {} : { Location } }
      const ETag = recordTag(resource.split(item))
      return { status: 201, text: item, headers: Location === undefined ? { ETag } : { ETag, Location } }
    },
  }
}
