import type { ListRequest } from '../../resource/lists/list.js'
import type { ListPage } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { type Links, linksOf, listHeaders } from '../list-links.js'
import type { Operation } from './operation.js'

/** A request for a list, with its query string parsed. */
export interface ListInput {
  readonly request: ListRequest
}

export function list(resource: Resource): Operation<ListInput, ListPage<Uint8Array>> {
  const isWrapped = resource.spec.pagination.envelope === 'results'
  return {
    name: 'list',
    method: 'GET',
    on: 'collection',
    read: ({ search }) => ({ request: resource.parseList(search) }),
    async run({ request }, context) {
      const page = await context.documents(resource).list(request.plan)
      return page.total?.estimated ? { ...page, total: atLeastShown(page, request) } : page
    },
    reply(page, context, { request }) {
      const links = linksOf({ resource, context, request }, page)
      return { status: 200, headers: listHeaders(links, page), text: isWrapped ? envelope(page, links) : page.items }
    },
  }
}

/** The planner's estimate can be smaller than the rows that the page itself shows. */
function atLeastShown(
  { total, length, more }: ListPage<unknown>,
  { plan, cut }: ListRequest,
): ListPage<unknown>['total'] {
  if (!total || length === 0) return total
  const offset = cut?.window.offset ?? ('offset' in plan.start ? plan.start.offset : 0)
  return { ...total, rows: Math.max(total.rows, Number(offset) + length + (more ? 1 : 0)) }
}

function envelope(page: ListPage<Uint8Array>, links: Links): Uint8Array {
  const [count, next, previous] = [page.total?.rows, links.get('next'), links.get('prev')].map((part) =>
    JSON.stringify(part ?? null),
  )
  const estimated = page.total?.estimated ? ',"count_estimated":true' : ''
  const head = `{"count":${count}${estimated},"next":${next},"previous":${previous},"results":`
  return Buffer.concat([Buffer.from(head), page.items, Buffer.from('}')])
}
