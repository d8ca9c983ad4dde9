import { orderBy, totalOrder } from '../../config/indexes/coverage.js'
import { type FieldSpec, ADDED_ID, type OrderSpec, type ResourceSpec } from '../../config/spec.js'
import { fail } from '../../foundation/fail.js'
import type { Comparison, Dialect, QueryParameters, Sorting, Vocabulary, Window } from '../../dialects/dialect.js'
import type { LinkReader } from '../../features/feature.js'
import { type FeaturePlans, featureParameters } from '../../features/index.js'
import { exact } from '../../lookups/exact.js'
import { isIn } from '../../lookups/in.js'
import type { Lookup } from '../../lookups/lookup.js'
import { ne } from '../../lookups/ne.js'
import { MAX_VALUES, parseValues, splitList } from '../../lookups/operands.js'
import { offsetPage } from '../../pagination/by-offset.js'
import type { Ordered, PageRequest, Parameters } from '../../pagination/paginator.js'
import { rejected } from '../../dialects/parameters.js'
import { Problem } from '../../foundation/problem.js'
import { operandSource } from '../../features/operand-source.js'
import { idFieldOf, JOINED_FIELD, joinedIdLookup, MAX_JOINED_IDS } from '../keys/added-id.js'
import { keepRecent, type ListRequest, rejectLong, formatLinks } from './list.js'
import type { Condition } from '../plan.js'
import { type Pair, parsePairs, quote } from '../query.js'

/** The maximum number of ids in a request. */
const MAX_IDS = 1_000

/**
 * Compiles the parser of list queries in a dialect: the dialect parses the query string, and the result is checked against the resource. The parser
 * throws Problem `invalid_query`.
 */
export function compileDialectList(
  spec: ResourceSpec,
  dialect: Dialect,
  readLink?: LinkReader,
): (search: string) => ListRequest {
  const { pagination, unknownQuery } = spec
  const key = idFieldOf(spec) ?? fail(`the resource ${spec.name} has a dialect, and its records have no key`)
  const byId = key === JOINED_FIELD ? joinedIdLookup(spec) : undefined
  const lookups = lookupsOf(spec)
  const featured = featureParameters(spec, 'list')
  const own = featured.map(({ name }) => name)
  const searching = featured.find(({ name }) => name === dialect.search)
  const words: Vocabulary = {
    key: spec.addedId ? ADDED_ID : key.name,
    isField: (name) => lookups.has(name),
    searches: searching !== undefined,
    sizes: pagination,
  }
  const readSorting = compileSorting(spec)
  const allowed = `allowed are ${[...dialect.paging, ...dialect.parameters, ...own].join(', ')}, and filters on ${[...lookups.keys()].join(', ')}`
  const unpaged = { offset: 0n, size: dialect.unpaged === 'everything' ? undefined : pagination.pageSize }
  const total = pagination.count === 'none' ? 'capped' : pagination.count

  const readCondition = (asked: Comparison): readonly Condition[] => {
    const offered = lookups.get(asked.field)
    const lookup = asked.lookups.find((each) => offered?.lookups.has(each))
    const isSplit = dialect.commas && lookup?.operand.list !== undefined
    const comparison = isSplit ? { ...asked, values: asked.values.flatMap(splitList) } : asked
    if (byId && lookup && comparison.field === ADDED_ID) return [byId.conditionOf(comparison)]
    if (offered !== undefined && lookup !== undefined)
      return toConditions(comparison, {
        field: offered.field,
        related: offered.related,
        lookup,
        most: mostValuesOf(spec, offered),
        readLink: offered.related ? undefined : readLink,
      })
    if (unknownQuery === 'ignore') return []
    const name = quote(comparison.parameter)
    if (offered === undefined) throw new Problem('invalid_query', `this list has no parameter ${name}; ${allowed}`)
    const known = [...offered.lookups].map(({ name }) => name).join(', ')
    const field = quote(comparison.field)
    throw new Problem('invalid_query', `this list has no comparison ${name}; ${field} supports ${known}`)
  }

  return keepRecent((text) => {
    const pairs = parsePairs(text)
    const given = gather(pairs)
    const asked = dialect.read(given, words)
    const where = asked.comparisons.flatMap(readCondition)
    const features: FeaturePlans = {}
    if (asked.search !== undefined) searching?.read?.(asked.search, features)
    const order = readSorting(asked.sorting)
    const ids = where.find(
      ({ field, related, lookup }) =>
        lookup === byId?.lookup || (!related && field === key && (lookup === isIn || lookup === exact)),
    )
    const window = asked.window ?? unpaged
    const isWhole = asked.window === undefined && ids !== undefined
    const page = isWhole ? WHOLE : cut({ spec, dialect, window, cursor: given.get('cursor')?.[0], order })
    const kept = formatKept(pairs, dialect)
    rejectLong(kept, page.linkLength)
    const { start, limit, keyset } = page
    const plan = Object.freeze({ ...features, where, order, start, limit, keyset, total } as const)
    const links: ListRequest['links'] = (edges) => formatLinks(kept, page.links(edges))
    return { plan, links, cut: { window, paged: asked.window?.size !== undefined } }
  })
}

/** The number of ids bounds these records, so they come in one page. */
const WHOLE: PageRequest = {
  start: { offset: 0 },
  limit: undefined,
  keyset: false,
  linkLength: 0,
  links: () => new Map(),
}

interface Cut {
  readonly spec: ResourceSpec
  readonly dialect: Dialect
  readonly window: Window
  readonly cursor: string | undefined
  readonly order: readonly Ordered[]
}

/** Returns the first page of the requested rows. If there are more, they are read in pages after it. */
function cut({ spec: { pagination }, dialect, window, cursor, order }: Cut): PageRequest {
  const { offset, size = pagination.maxPageSize } = window
  const query: Parameters = new Map(cursor === undefined ? [] : [['cursor', cursor]])
  const at = (rows: bigint) => dialect.format({ ...window, offset: rows, size })
  const page = offsetPage({ query, order, offset, size, at }, pagination)
  const isLong = window.size === undefined || size > pagination.maxPageSize
  if (!isLong) return page
  if ('before' in page.start)
    throw rejected('cursor', `points to the previous page, which has at most ${pagination.maxPageSize} records`)
  const links: PageRequest['links'] = (edges) => {
    // Rejects offsets that are too large.
    const found = page.links(edges)
    return window.size === undefined ? new Map() : found
  }
  return { ...page, limit: Math.min(page.limit ?? size, pagination.maxPageSize), keyset: true, links }
}

/** A field that lists can be filtered by. */
interface Offered extends Pick<Condition, 'field' | 'related'> {
  readonly lookups: ReadonlySet<Lookup>
}

/** The lookups that filters may use. Equality with one or several values costs the same, and the id can always be used. */
export function lookupsOf(spec: ResourceSpec): ReadonlyMap<string, Offered> {
  const equal: readonly Lookup[] = [exact, isIn]
  const key = shownKey(spec)
  const declared = spec.filters.map(({ name, field, related, lookups }): [string, Offered] => {
    const more = lookups.some((each) => equal.includes(each)) || (!related && field === key) ? equal : []
    return [name, { field, related, lookups: new Set([...more, ...lookups]) }]
  })
  if (!key) return new Map(declared)
  const [, ofKey = { field: key, lookups: new Set(equal) }] =
    declared.find(([, { field, related }]) => !related && field === key) ?? []
  const names = spec.addedId ? [ADDED_ID, key.name] : [key.name]
  return new Map([...names.map((name) => [name, ofKey] as const), ...declared])
}

/** The member by which clients know a record; undefined if records do not show it. */
function shownKey(spec: ResourceSpec): FieldSpec | undefined {
  return spec.pagination.keyed ? idFieldOf(spec) : undefined
}

/** How many values of a field one parameter of a dialect accepts. */
export function mostValuesOf(spec: ResourceSpec, { field, related }: Pick<Condition, 'field' | 'related'>): number {
  if (related || field !== idFieldOf(spec)) return MAX_VALUES
  return field === JOINED_FIELD ? MAX_JOINED_IDS : MAX_IDS
}

interface Meant extends Pick<Condition, 'field' | 'related'> {
  readonly lookup: Lookup
  readonly most: number
  readonly readLink: LinkReader | undefined
}

function toConditions(
  { parameter, values }: Comparison,
  { field, related, lookup, most, readLink }: Meant,
): readonly Condition[] {
  const texts = [...new Set(values)]
  const [text, ...others] = texts
  const source = operandSource({ parameter, field, readLink, maxValues: most })
  const condition = (by: Lookup, value: unknown): Condition => ({
    field,
    lookup: by,
    value,
    ...(related && { related }),
  })
  if (lookup === exact && texts.length !== 1) return [condition(isIn, parseValues(texts, source))]
  // "Not one of several values" means different from all of them.
  if (lookup === ne)
    return parseValues(texts, operandSource({ parameter, field, readLink })).map((value) => condition(lookup, value))
  const { operand } = lookup
  if (operand.list) return [condition(lookup, operand.list.parse(values, source))]
  if (text === undefined || others.length > 0)
    throw new Problem('invalid_query', `the parameter ${quote(parameter)} must have one value`)
  return [condition(lookup, operand.parse(text, source))]
}

/** Lists can always be ordered by a primary key that they show, which has an index. */
export function sortableBy({ model, orderable, addedId, pagination }: ResourceSpec): ReadonlyMap<string, FieldSpec> {
  const named = (field: FieldSpec) => [field.name, field] as const
  const id = addedId && idFieldOf({ model })
  const key = pagination.keyed ? [...(id ? [[ADDED_ID, id] as const] : []), ...model.key.map(named)] : []
  return new Map([...key, ...orderable.map(named)])
}

function compileSorting(spec: ResourceSpec): (asked: readonly Sorting[] | undefined) => readonly OrderSpec[] {
  const { model, defaultOrder, nulls } = spec
  const fields = sortableBy(spec)
  const standard = totalOrder(spec, defaultOrder)
  const find = ({ field: name, descending }: Sorting): readonly OrderSpec[] => {
    const field = fields.get(name)
    if (field === JOINED_FIELD) return model.key.map((part) => orderBy(part, descending, undefined))
    if (field) return [orderBy(field, descending, nulls[name])]
    const allowed = [...fields.keys()].join(', ')
    throw new Problem('invalid_query', `this list cannot be ordered by ${quote(name)}; allowed are ${allowed}`)
  }
  return (asked) => {
    if (asked === undefined) return standard
    const order = asked.slice(0, fields.size + 1).flatMap(find)
    if (new Set(order.map(({ field }) => field)).size < order.length)
      throw new Problem('invalid_query', 'the order of the list names a field twice')
    return totalOrder(spec, order)
  }
}

const INDEX = /\[[0-9]{0,4}\]$/

/** `ids[0]` and `ids[]` are values of `ids`. */
function nameOf(name: string): string {
  return name.replace(INDEX, '')
}

function gather(pairs: readonly Pair[]): QueryParameters {
  const given = new Map<string, string[]>()
  for (const [name, text] of pairs) {
    const known = given.get(nameOf(name))
    if (known) known.push(text)
    else given.set(nameOf(name), [text])
  }
  return given
}

/** The part of a query that the links of all pages share. */
function formatKept(pairs: readonly Pair[], { paging }: Dialect): string {
  const kept = pairs.filter(([name]) => !paging.includes(nameOf(name)))
  return kept.length === 0
    ? ''
    : new URLSearchParams(kept.map(([name, text]): [string, string] => [name, text])).toString()
}
