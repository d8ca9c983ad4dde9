import type { PageEdges } from '../pagination/paginator.js'
import type { ListRequest } from '../resource/list.js'
import type { ListPage } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'

/** The URLs of the neighbours of a page, by relation. */
export type Links = ReadonlyMap<string, string>

/** Where the neighbours of a page are. */
export function linksOf({ spec: { path } }: Resource, request: ListRequest, page: ListPage<unknown>): Links {
  return new Map([...request.links(page)].map(([rel, search]) => [rel, `${path}?${search}`]))
}

/** What headers say of a list: its neighbours, and how many records there are. */
export function listHeaders(links: Links, { total }: Pick<PageEdges, 'total'>): Record<string, string> {
  const headers: Record<string, string> = {}
  if (links.size > 0) headers['Link'] = [...links].map(([rel, url]) => `<${url}>; rel="${rel}"`).join(', ')
  if (total) headers['X-Total-Count'] = String(total.rows)
  if (total?.estimated) headers['X-Total-Count-Estimated'] = 'true'
  return headers
}
