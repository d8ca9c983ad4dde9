import { totalOrder } from '../../config/indexes/coverage.js'
import type { OrderSpec, ResourceSpec } from '../../config/spec.js'
import type { Listed, Window } from '../../dialects/dialect.js'
import type { LinkReader, ParameterRole, QueryParameter } from '../../features/feature.js'
import { type FeaturePlans, featureParameters, placesPage } from '../../features/index.js'
import { MAX_LINK_LENGTH, type PageLinks, type Rel } from '../../pagination/paginator.js'
import { Problem } from '../../foundation/problem.js'
import type { ListPage, ListPlan } from '../plan.js'
import { parseQuery, type Query, quote } from '../query.js'

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
  const { style } = spec.pagination
  const featured = featureParameters(spec, 'list', readLink)
  const paging = new Set(featured.filter(placesPage).map(({ name }) => name))
  const readParameters = compileParameters(spec, featured, 'this list')

  const read = (text: string): ListRequest => {
    const { query, known, asked, order } = readParameters(text)
    const { start, limit, keyset, links, linkLength } = style.read(query, order, spec.pagination)
    const kept = formatKept(query, (name) => known.has(name) && !paging.has(name))
    rejectLong(kept, linkLength)
    const plan = Object.freeze({
      ...asked,
      where: asked.where ?? [],
      order,
      start,
      limit,
      keyset,
      total: spec.pagination.count,
    })
    return { plan, links: (page) => formatLinks(kept, links(page)) }
  }

  return keepRecent(read)
}

/** Compiles the parser of exports, which have the parameters of lists except those of pages. It throws Problem `invalid_query`. */
export function compileExport(spec: ResourceSpec, readLink?: LinkReader): (search: string) => ListPlan {
  const featured = featureParameters(spec, 'list', readLink).filter((parameter) => !placesPage(parameter))
  const readParameters = compileParameters(spec, featured, 'an export')
  return (text) => {
    const { asked, order } = readParameters(text)
    return {
      ...asked,
      where: asked.where ?? [],
      order,
      start: { offset: 0 },
      limit: undefined,
      keyset: false,
      total: 'none',
    }
  }
}

/** The parsed parameters of a request. `query` and `known` include the parameters of pages, which `asked` and `order` do not. */
interface AskedRecords {
  readonly query: Query
  readonly known: ReadonlySet<string>
  readonly asked: FeaturePlans
  /** Total. */
  readonly order: readonly OrderSpec[]
}

function compileParameters(
  spec: ResourceSpec,
  featured: readonly QueryParameter<FeaturePlans>[],
  what: string,
): (text: string) => AskedRecords {
  const standard = totalOrder(spec, spec.defaultOrder)
  const known: ReadonlySet<string> = new Set(namesInOrder(featured))
  const allowed = known.size === 0 ? 'it has none' : `allowed are ${[...known].join(', ')}`
  const isIgnored = (name: string) => spec.unknownQuery === 'ignore' && !known.has(name)
  const parameters = new Map(featured.map((parameter) => [parameter.name, parameter]))
  const isList = (name: string) => parameters.get(name)?.several === true

  return (text) => {
    const query = parseQuery(text, isIgnored, isList)
    if (spec.unknownQuery === 'refuse') {
      const unknown = [...query.keys()].find((name) => !known.has(name))
      if (unknown !== undefined) {
        throw new Problem('invalid_query', `${what} has no parameter ${quote(unknown)}; ${allowed}`)
      }
    }
    const asked: FeaturePlans = {}
    for (const [name, value] of query) {
      const parameter = parameters.get(name)
      const other = parameter?.excludes?.find((each) => query.has(each))
      if (other !== undefined)
        throw new Problem('invalid_query', `the parameters \`${name}\` and \`${other}\` cannot be combined; give one`)
      parameter?.read?.(value, asked)
    }
    return { query, known, asked, order: asked.order ?? standard }
  }
}

const RANKS: Readonly<Record<ParameterRole, number>> = { page: 0, size: 0, order: 1, filter: 3 }
function rankOf({ role }: QueryParameter): number {
  return role === undefined ? 2 : RANKS[role]
}

/** The names of parameters, general ones first. */
function namesInOrder(parameters: readonly QueryParameter<FeaturePlans>[]): readonly string[] {
  return parameters.toSorted((one, other) => rankOf(one) - rankOf(other)).map(({ name }) => name)
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
function formatKept(query: Query, isKept: (name: string) => boolean): string {
  const kept = [...query].filter(([name]) => isKept(name))
  return kept.length === 0 ? '' : new URLSearchParams(kept).toString()
}

/** A link in a response must be short enough to be requested. */
export function rejectLong({ length }: string, linkLength: number): void {
  const room = MAX_LINK_LENGTH - linkLength
  if (linkLength === 0 || length <= room) return
  throw new Problem(
    'invalid_query',
    `the query is too long for the links to other pages (${length} characters, at most ${room}); send a shorter query`,
  )
}

/**
 * Each link keeps the filters and the order of the request and adds the parameters of its page; ignored parameters are dropped. If not all links fit,
 * the first and the last page are left out.
 */
export function formatLinks(kept: string, pages: PageLinks): ReadonlyMap<Rel, string> {
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
