import type { Id, Selection } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { entityTag, recordTag, taggedReply } from '../headers/entity-tags.js'
import type { Operation } from './operation.js'
import { notFound, readId } from './request.js'

/** A request for one record. */
export interface RetrieveInput {
  readonly id: Id
  /** The requested parts of the record; undefined for all of it. */
  readonly selection: Selection | undefined
}

export function retrieve(resource: Resource): Operation<RetrieveInput, string | undefined> {
  const { selectable } = resource
  return {
    name: 'retrieve',
    method: 'GET',
    on: 'item',
    read(context) {
      const selection = selectable ? resource.parseSelection(context.search) : undefined
      return { id: readId(resource, context), selection }
    },
    run: ({ id, selection }, context) => context.documents(resource).retrieve(id, selection),
    reply(item, context, { selection }) {
      const text = item ?? notFound()
      // A partial record has its own tag, which preconditions never accept: writes apply to the whole record.
      const tag = selection === undefined ? recordTag(resource.split(text)) : entityTag(`${selection.key}\n${text}`)
      return taggedReply(context, text, tag)
    },
  }
}
