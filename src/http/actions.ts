import type { Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import type { Id, ListPage, Row } from '../resource/plan.js'
import type { BodyMode } from '../resource/body.js'
import type { Resource } from '../resource/resource.js'
import { Problem } from '../problem.js'
import { dialectList } from './dialect-list.js'
import { entityTag, readPreconditions, taggedReply } from './entity-tags.js'
import { type Listing, linksOf, listHeaders, type Links } from './list-links.js'
import type { BodyPolicy, Context, Handler, Reply } from './route.js'

/** The generated operations: each takes a resource and gives the handler of one route. */
export const ACTIONS: Readonly<Record<Operation, (resource: Resource) => Handler>> = {
  list: (resource) => (resource.spec.dialect ? dialectList(resource, resource.spec.dialect) : list(resource)),

  create: (resource) => async (context) => {
    const row = await readCreation(resource, context)
    const { id, item } = await context.documents(resource).create(row)
    const location = context.reverse(detailName(resource.spec.name), { [resource.spec.model.primaryKey.name]: id })
    const headers = {
      ETag: entityTag(resource.storedPart(item)),
      ...(location === undefined ? {} : { Location: location }),
    }
    return { status: 201, text: item, headers }
  },

  retrieve: (resource) => (resource.selectable ? look(resource) : retrieve(resource)),

  update: (resource) =>
    change(resource, resource.spec.dialect?.put === 'merge' ? 'assign' : 'replace', policyOf(resource, 'update')),

  partial_update: (resource) => change(resource, 'update', policyOf(resource, 'partial_update')),

  destroy: (resource) => (resource.spec.dialect?.destroyed === 'record' ? take(resource) : destroy(resource)),
}

function list(resource: Resource): Handler {
  return async (context) => {
    const request = resource.parseList(context.search)
    const page = await context.documents(resource).list(request.plan)
    return listReply({ resource, context, request }, page)
  }
}

function retrieve(resource: Resource): Handler {
  return async (context) => {
    const item = (await context.documents(resource).retrieve(readId(resource, context))) ?? notFound()
    return taggedReply(context, item, entityTag(resource.storedPart(item)))
  }
}

/** What a client asks to see of a record has a tag of its own, which is that of no version: changes are meant for the whole. */
function look(resource: Resource): Handler {
  const whole = retrieve(resource)
  return async (context) => {
    const selection = resource.parseSelection(context.search)
    if (selection === undefined) return whole(context)
    const item = (await context.documents(resource).retrieve(readId(resource, context), selection)) ?? notFound()
    return taggedReply(context, item, entityTag(`${selection.key}\n${item}`))
  }
}

/** What a request makes a record of. */
export async function readCreation(resource: Resource, context: Context): Promise<Row> {
  return resource.parseBody(await context.body(policyOf(resource, 'create')), 'create')
}

function destroy(resource: Resource): Handler {
  return async (context) => {
    const only = preconditions(resource, context)
    const destroyed = await context.documents(resource).destroy(readId(resource, context), only)
    return destroyed ? { status: 204 } : notFound()
  }
}

function take(resource: Resource): Handler {
  return async (context) => {
    const only = preconditions(resource, context)
    const item = await context.documents(resource).take(readId(resource, context), only)
    return { status: 200, text: item ?? notFound() }
  }
}

/** The body is judged before the id, and both before the database is asked. */
function change(resource: Resource, mode: BodyMode, bodyPolicy: BodyPolicy): Handler {
  return async (context) => {
    const row = resource.parseBody(await context.body(bodyPolicy), mode)
    const only = preconditions(resource, context)
    const item = (await context.documents(resource).update(readId(resource, context), row, only)) ?? notFound()
    return { status: 200, text: item, headers: { ETag: entityTag(resource.storedPart(item)) } }
  }
}

/** What the client makes a change conditional on. */
export function preconditions({ spec }: Resource, { headers }: Context) {
  return readPreconditions(headers, spec.concurrency === 'required')
}

/** How the body of an operation is judged. */
export function policyOf(resource: Resource, operation: Operation): BodyPolicy {
  const more = operation === 'partial_update' ? ['application/merge-patch+json'] : []
  const mediaTypes = ['application/json', ...more]
  return operation === 'create' && resource.spec.bulk.operations.includes('create')
    ? { mediaTypes, optional: false, limit: resource.bulkLimit, items: resource.spec.bulk.max }
    : { mediaTypes, optional: false, limit: resource.bodyLimit }
}

/**
 * An id that is not canonical is the id of no record.
 * @throws Problem `not_found`
 */
export function readId(resource: Resource, context: Context): Id {
  return resource.parseId(context.params[resource.spec.model.primaryKey.name] ?? '') ?? notFound()
}

/** @throws Problem `not_found` */
export function notFound(): never {
  throw new Problem('not_found')
}

function listReply(listing: Listing, page: ListPage<Uint8Array>): Reply {
  const links = linksOf(listing, page)
  const isWrapped = listing.resource.spec.pagination.envelope === 'results'
  return {
    status: 200,
    headers: listHeaders(links, page),
    text: isWrapped ? envelope(page, links) : page.items,
  }
}

function envelope(page: ListPage<Uint8Array>, links: Links): Uint8Array {
  const [count, next, previous] = [page.total?.rows, links.get('next'), links.get('prev')].map((part) =>
    JSON.stringify(part ?? null),
  )
  const estimated = page.total?.estimated ? ',"count_estimated":true' : ''
  const head = `{"count":${count}${estimated},"next":${next},"previous":${previous},"results":`
  return Buffer.concat([Buffer.from(head), page.items, Buffer.from('}')])
}
