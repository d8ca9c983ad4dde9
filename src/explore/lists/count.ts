import { featureResponses } from '../../features/index.js'
import type { Context } from '../../http/route.js'
import type { Resource } from '../../resource/resource.js'
import { ask, totalOf } from '../ask.js'
import { sizeParameter } from './list-query.js'
import type { Explored } from '../place.js'

/** How many lists a page queries for their totals. */
export const MAX_COUNTED = 24

/** Returns the total of a list from its `X-Total-Count`; undefined if the list has no total. */
export async function countOf(
  explored: Explored,
  context: Context,
  { spec }: Resource,
  query = new URLSearchParams(),
): Promise<string | undefined> {
  const size = sizeParameter(spec)
  const isCounted = featureResponses(spec, { operation: 'list' }).some(({ headers }) =>
    headers?.includes('X-Total-Count'),
  )
  if (size === undefined || !isCounted || !spec.operations.includes('list')) return undefined
  const search = new URLSearchParams([...query, [size, '1']]).toString()
  return totalOf(await ask(context, explored.routes, { path: spec.path, search }))
}
