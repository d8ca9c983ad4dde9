import type { PageEdges } from '../pagination/paginator.js'
import type { ListRequest } from '../resource/lists/list.js'
import type { ListPage } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { Context } from './route.js'

/** The URLs of other pages, by relation. */
export type Links = ReadonlyMap<string, string>

const NONE: Links = new Map()

/** A request for a list of a resource. */
export interface Listing {
  readonly resource: Resource
  readonly context: Context
  readonly request: ListRequest
}

/** Returns the links from a page to others. */
export function linksOf({ resource, context, request }: Listing, page: ListPage<unknown>): Links {
  const found = request.links(page)
  if (found.size === 0) return NONE
  const start = `${context.publicUrl()}${resource.spec.path}?`
  return new Map([...found].map(([rel, search]) => [rel, start + search]))
}

/** The headers of a list: links to other pages, and the total. */
export function listHeaders(links: Links, { total }: Pick<PageEdges, 'total'>): Record<string, string> {
  const headers: Record<string, string> = {}
  if (links.size > 0) headers['Link'] = [...links].map(([rel, url]) => `<${url}>; rel="${rel}"`).join(', ')
  if (total) headers['X-Total-Count'] = String(total.rows)
  if (total?.estimated) headers['X-Total-Count-Estimated'] = 'true'
  return headers
}
