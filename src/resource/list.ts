import type { ResourceSpec } from '../config/spec.js'
import type { PageLinks, Rel } from '../pagination/paginator.js'
import { Problem } from '../problem.js'
import { compileFilters } from './filter.js'
import { compileOrder } from './order.js'
import type { ListPage, ListPlan } from './plan.js'
import { parseQuery, quote } from './query.js'

/** A request for a list, understood: what to ask of the store, and where its neighbours are. */
export interface ListRequest {
  readonly plan: ListPlan
  /** The query strings of the first, previous, next and last page, as far as the answer shows that they exist. */
  links(page: ListPage<unknown>): ReadonlyMap<Rel, string>
}

/** @returns the parser of a query string; it throws Problem `invalid_query` */
export function compileList(spec: ResourceSpec): (search: string) => ListRequest {
  const filters = compileFilters(spec)
  const readOrder = compileOrder(spec)
  const { style } = spec.pagination
  const ordering = spec.orderable.length > 0 ? ['ordering'] : []
  const known: ReadonlySet<string> = new Set([...style.parameters, ...ordering, ...filters.keys()])
  const allowed = known.size === 0 ? 'it takes none' : `allowed are ${[...known].join(', ')}`

  const isIgnored = (name: string) => spec.unknownQuery === 'ignore' && !known.has(name)

  return (search) => {
    const query = parseQuery(search, isIgnored)
    if (spec.unknownQuery === 'refuse') {
      const unknown = [...query.keys()].find((name) => !known.has(name))
      if (unknown !== undefined) {
        throw new Problem('invalid_query', `this list takes no parameter ${quote(unknown)}; ${allowed}`)
      }
    }
    const where = [...query].flatMap(([name, text]) => filters.get(name)?.read(text) ?? [])
    const order = readOrder(ordering.length > 0 ? query.get('ordering') : undefined)
    const { start, limit, keyset, links } = style.read(query, order, spec.pagination)
    const plan = { where, order, start, limit, keyset, total: spec.pagination.count }
    const kept = () => [...query].filter(([name]) => known.has(name) && !style.parameters.includes(name))
    return { plan, links: (page) => spell(kept(), links(page)) }
  }
}

/** Each link keeps the filters and the order of the request, and has the parameters of its own page; what was ignored is not carried on. */
function spell(kept: readonly (readonly [string, string])[], pages: PageLinks): ReadonlyMap<Rel, string> {
  const before = kept.length === 0 ? '' : `${new URLSearchParams(kept as [string, string][]).toString()}&`
  const links = new Map<Rel, string>()
  for (const [rel, parameters] of pages) {
    // Numbers and cursors need no escaping.
    const own = Object.keys(parameters).map((name) => `${name}=${parameters[name]}`)
    links.set(rel, before + own.join('&'))
  }
  return links
}
