import type { ResourceSpec } from '../config/spec.js'
import type { Listed, Window } from '../dialects/dialect.js'
import { type FeaturePlans, featureParameters } from '../features/index.js'
import { MAX_LINK_LENGTH, type PageLinks, type Rel } from '../pagination/paginator.js'
import { Problem } from '../problem.js'
import { compileFilters } from './filter.js'
import { compileOrder } from './order.js'
import type { LinkReader } from './links.js'
import type { ListPage, ListPlan } from './plan.js'
import { parseQuery, type Query, quote } from './query.js'

/** A parsed list request: the plan for the store, and the links to other pages. */
export interface ListRequest {
  readonly plan: ListPlan
  /** The query strings of the first, previous, next and last page, as far as the result shows that they exist. */
  links(page: ListPage<unknown>): ReadonlyMap<Rel, string>
  /** Set for dialects: the requested rows, and whether the client named a page. `plan` has at most one page of them. */
  readonly cut?: Pick<Listed, 'paged'> & { readonly window: Window }
}

/** Compiles the parser of list queries. It throws Problem `invalid_query`. */
export function compileList(spec: ResourceSpec, readLink?: LinkReader): (search: string) => ListRequest {
  const filters = compileFilters(spec, readLink)
  const readOrder = compileOrder(spec)
  const { style } = spec.pagination
  const ordering = spec.orderable.length > 0 ? ['ordering'] : []
  const featured = featureParameters(spec, 'list')
  const own = [...style.parameters, ...ordering, ...featured.map(({ name }) => name)]
  const known: ReadonlySet<string> = new Set([...own, ...filters.keys()])
  const allowed = known.size === 0 ? 'it takes none' : `allowed are ${[...known].join(', ')}`

  const isKept = (name: string) => known.has(name) && !style.parameters.includes(name)
  const isIgnored = (name: string) => spec.unknownQuery === 'ignore' && !known.has(name)

  const several = featured.filter(({ schema }) => schema['type'] === 'array')
  const lists = new Set([...ordering, ...several.map(({ name }) => name)])
  const isList = (name: string) => lists.has(name) || filters.get(name)?.lookup.operand.list !== undefined

  const read = (text: string): ListRequest => {
    const query = parseQuery(text, isIgnored, isList)
    if (spec.unknownQuery === 'refuse') {
      const unknown = [...query.keys()].find((name) => !known.has(name))
      if (unknown !== undefined) {
        throw new Problem('invalid_query', `this list takes no parameter ${quote(unknown)}; ${allowed}`)
      }
    }
    const where = [...query].flatMap(([name, text]) => filters.get(name)?.read(text) ?? [])
    const asked: FeaturePlans = {}
    for (const parameter of featured) {
      const text = query.get(parameter.name)
      if (text === undefined) continue
      const other = parameter.excludes?.find((name) => query.has(name))
      if (other !== undefined)
        throw new Problem(
          'invalid_query',
          `the parameters \`${parameter.name}\` and \`${other}\` do not go together; give one`,
        )
      parameter.read(text, asked)
    }
    const order = asked.order ?? readOrder(ordering.length > 0 ? query.get('ordering') : undefined)
    const { start, limit, keyset, links, linkLength } = style.read(query, order, spec.pagination)
    const kept = spellKept(query, isKept)
    refuseLong(kept, linkLength)
    const plan = Object.freeze({
      ...asked,
      where,
      order,
      start,
      limit,
      keyset,
      total: spec.pagination.count,
    })
    return { plan, links: (page) => spellLinks(kept, links(page)) }
  }

  return keepRecent(read)
}

/** Memoises recent requests: most clients request the same few pages. */
export function keepRecent<Request>(read: (search: string) => Request): (search: string) => Request {
  const recent = new Map<string, Request>()
  return (search) => {
    const known = recent.get(search)
    if (known) return known
    const request = read(search)
    if (search.length > MAX_KEPT_LENGTH) return request
    const [oldest] = recent.keys()
    if (oldest !== undefined && recent.size >= MAX_KEPT) recent.delete(oldest)
    recent.set(search, request)
    return request
  }
}

/** The number and maximum length of memoised query strings. */
const MAX_KEPT = 64
const MAX_KEPT_LENGTH = 200

/** The part of a query that the links of all pages share: filters and order. */
function spellKept(query: Query, isKept: (name: string) => boolean): string {
  const kept = [...query].filter(([name]) => isKept(name))
  return kept.length === 0 ? '' : new URLSearchParams(kept).toString()
}

/** A link in a response must be short enough to be requested. */
export function refuseLong({ length }: string, linkLength: number): void {
  const room = MAX_LINK_LENGTH - linkLength
  if (linkLength === 0 || length <= room) return
  throw new Problem(
    'invalid_query',
    `the query takes ${length} characters in a link, and may take ${room}; ask for less at once`,
  )
}

/**
 * Each link keeps the filters and the order of the request and adds the parameters of its page; ignored parameters are dropped. If not all links fit,
 * the first and the last page are left out.
 */
export function spellLinks(kept: string, pages: PageLinks): ReadonlyMap<Rel, string> {
  const links = new Map<Rel, string>()
  const start = kept === '' ? '' : `${kept}&`
  let length = 0
  for (const [rel, parameters] of pages) {
    // Numbers and cursors need no escaping.
    const own = Object.keys(parameters).map((name) => `${name}=${parameters[name]}`)
    const link = start + own.join('&')
    length += link.length
    links.set(rel, link)
  }
  if (length <= 2 * MAX_LINK_LENGTH) return links
  return new Map([...links].filter(([rel]) => rel === 'prev' || rel === 'next'))
}
