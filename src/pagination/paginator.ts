import type { FieldType } from '../fields/field-type.js'
import type { JsonSchema } from '../json.js'
import { Problem } from '../problem.js'

/** The relations of RFC 8288 that a list answers with. */
export type Rel = 'first' | 'prev' | 'next' | 'last'

/** The parameters that lead to each neighbour of a page. */
export type PageLinks = ReadonlyMap<Rel, Readonly<Record<string, string>>>

/**
 * Characters that the query of a link may have. A server reads 16 KiB of head, and many clients of an answer no more: there
 * has to be room for a link with everything else that a request says, and for two links in an answer.
 */
export const LONGEST_LINK = 7000

/** Where a page starts: after so many rows, or after (before) the row that has these values in the list's order. */
export type PageStart =
  | { readonly offset: number }
  | { readonly after: readonly unknown[] }
  | { readonly before: readonly unknown[] }

/** What the answer shows of where its page lies. */
export interface PageEdges {
  /** The order's values in the first and the last item; undefined when the page is empty or nobody asked. */
  readonly first: readonly unknown[] | undefined
  readonly last: readonly unknown[] | undefined
  /** Whether rows follow in the direction of the page; known in every mode. */
  readonly more: boolean
  readonly total: { readonly rows: number; readonly estimated: boolean } | undefined
}

/** One page, as a style understood it. */
export interface PageRequest {
  readonly start: PageStart
  /** Rows wanted; undefined is all. */
  readonly limit: number | undefined
  /** Whether the answer must carry the order's values of its first and last item. */
  readonly keyset: boolean
  /** Characters that the parameters of the style take in the longest of its links. */
  readonly linkLength: number
  links(edges: PageEdges): PageLinks
}

export interface PageSizes {
  /** Items on a page when none are asked for. */
  readonly pageSize: number
  /** Items on a page at most. */
  readonly maxPageSize: number
  /** Rows that are passed over, at most, to find a page that is asked for by its number. */
  readonly maxOffset: number
}

/** What a list can be ordered by. */
export interface OrderedField {
  readonly name: string
  readonly nullable: boolean
  readonly type: FieldType
  readonly options: object
}

/** What is known of a field's values before there are any. */
export type MeasuredField = Pick<OrderedField, 'name' | 'type' | 'options'>

/** Where records without a value come, whichever way a list is sorted. */
export type NullsPlace = 'first' | 'last'

/** One part of a list's order. */
export interface Ordered {
  readonly field: OrderedField
  readonly descending: boolean
  /** Set where nulls come elsewhere than PostgreSQL puts them, which is last ascending and first descending. */
  readonly nulls?: NullsPlace
}

export type Parameters = ReadonlyMap<string, string>

/** What documents for clients say of a query parameter. */
export interface ParameterDescription {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  /** How several values stand in it (OpenAPI); as repeated parameters when left out. */
  readonly style?: 'form'
  readonly explode?: boolean
}

/** A style of pagination, one object in one file. */
export interface PaginationStyle {
  /** What stands after `style:` in resources.yaml. */
  readonly name: string
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The query parameters it takes; no filter can have their names. */
  readonly parameters: readonly string[]
  /** The same parameters, for documents. */
  describe(sizes: PageSizes): readonly ParameterDescription[]
  /** Whether the links of a list that is ordered by all of these fields could become longer than any may be. */
  outgrows?(fields: readonly MeasuredField[]): boolean
  /** @throws Problem `invalid_query` */
  read(query: Parameters, order: readonly Ordered[], sizes: PageSizes): PageRequest
}

/** A parameter that is a plain decimal, exact whatever its length; `fallback` when it is not given. */
export function readCount(query: Parameters, name: string, smallest: 0n | 1n, fallback: bigint): bigint {
  const text = query.get(name)
  if (text === undefined) return fallback
  if (!/^(?:0|[1-9][0-9]*)$/.test(text) || BigInt(text) < smallest) {
    throw new Problem(
      'invalid_query',
      `the parameter \`${name}\` must be a whole number from ${smallest}, in plain digits`,
    )
  }
  return BigInt(text)
}

/** What `readCount` takes. */
export function describeCount(name: string, description: string, smallest: 0 | 1): ParameterDescription {
  return { name, description, schema: { type: 'integer', minimum: smallest, default: smallest } }
}

/** What `readSize` takes. */
export function describeSize(name: string, { pageSize, maxPageSize }: PageSizes): ParameterDescription {
  return {
    name,
    description: `How many items a page has, at most ${maxPageSize}; more is read as ${maxPageSize}.`,
    schema: { type: 'integer', minimum: 1, default: pageSize },
  }
}

/** A size of page, at most the largest allowed. */
export function readSize(query: Parameters, name: string, { pageSize, maxPageSize }: PageSizes): number {
  const size = readCount(query, name, 1n, BigInt(pageSize))
  return size > BigInt(maxPageSize) ? maxPageSize : Number(size)
}

/** Characters of parameters in a link: names, values, and what stands between them. */
export function lengthOf(parameters: Readonly<Record<string, string>>): number {
  return Object.entries(parameters).reduce((sum, [name, value]) => sum + name.length + value.length + 2, 0)
}
