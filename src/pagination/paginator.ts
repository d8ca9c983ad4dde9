import type { FieldType } from '../fields/field-type.js'
import type { JsonSchema } from '../foundation/json.js'
import { Problem } from '../foundation/problem.js'

/** The link relations of lists (RFC 8288). */
export type Rel = 'first' | 'prev' | 'next' | 'last'

/** The parameters of the links to neighbouring pages. */
export type PageLinks = ReadonlyMap<Rel, Readonly<Record<string, string>>>

/**
 * The maximum length of a link's query. Servers accept 16 KiB of headers, and many clients no more in responses: a link must fit with everything else
 * in a request, and two links in a response.
 */
export const MAX_LINK_LENGTH = 7000

/** Where a page starts: after a number of rows, or after (before) the row with these order values. */
export type PageStart =
  | { readonly offset: number }
  | { readonly after: readonly unknown[] }
  | { readonly before: readonly unknown[] }

/** The position of a page, as far as the result shows it. */
export interface PageEdges {
  /** The order values of the first and the last item; undefined if the page is empty or they were not requested. */
  readonly first: readonly unknown[] | undefined
  readonly last: readonly unknown[] | undefined
  /** Whether more rows follow in the direction of the page. */
  readonly more: boolean
  readonly total: { readonly rows: number; readonly estimated: boolean } | undefined
}

/** A page as parsed by a style. */
export interface PageRequest {
  readonly start: PageStart
  /** The number of rows; undefined for all. */
  readonly limit: number | undefined
  /** Whether the result needs the order values of its first and last item. */
  readonly keyset: boolean
  /** The maximum length of the style's parameters in a link. */
  readonly linkLength: number
  links(edges: PageEdges): PageLinks
}

export interface PageSizes {
  /** The default number of items on a page. */
  readonly pageSize: number
  /** The maximum number of items on a page. */
  readonly maxPageSize: number
  /** The maximum number of rows to skip for a page that is requested by number. */
  readonly maxOffset: number
  /** Whether records show a key. Without one, two records may be equal in the whole order, and a cursor would skip one of them. */
  readonly keyed: boolean
}

/** A field that a list can be ordered by. */
export interface OrderedField {
  readonly name: string
  readonly mayBeNull: boolean
  readonly type: FieldType
  readonly options: object
}

/** The properties of a field that limit the size of its values. */
export type MeasuredField = Pick<OrderedField, 'name' | 'type' | 'options'>

/** The position of nulls, for both directions of order. */
export type NullsPlace = 'first' | 'last'

/** One part of a list's order. */
export interface Ordered {
  readonly field: OrderedField
  readonly descending: boolean
  /** Set if nulls come elsewhere than by PostgreSQL's default, which is last ascending and first descending. */
  readonly nulls?: NullsPlace
}

export type Parameters = ReadonlyMap<string, string>

/** Describes a query parameter for documents. */
export interface ParameterDescription {
  readonly name: string
  readonly description: string
  readonly schema: JsonSchema
  /** How several values are separated (OpenAPI); the default is repeated parameters. */
  readonly style?: 'form'
  readonly explode?: boolean
}

/** A style of pagination, one object in one file. */
export interface PaginationStyle {
  /** The value of `style:` in resources.yaml. */
  readonly name: string
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** Its query parameters, which no filter can be named after. */
  readonly parameters: readonly string[]
  /** The parameter for the size of a page. */
  readonly size?: string
  /** The same parameters for documents. */
  describe(sizes: PageSizes): readonly ParameterDescription[]
  /** Whether the links of a list ordered by all of these fields could exceed the maximum length. */
  outgrows?(fields: readonly MeasuredField[]): boolean
  /** @throws Problem `invalid_query` */
  read(query: Parameters, order: readonly Ordered[], sizes: PageSizes): PageRequest
}

/** Parses a parameter with an unsigned decimal number, exactly; returns `fallback` if it is missing. */
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

/** Describes the parameter of `readCount`. */
export function describeCount(name: string, description: string, smallest: 0 | 1): ParameterDescription {
  return { name, description, schema: { type: 'integer', minimum: smallest, default: smallest } }
}

/** Describes the parameter of `readSize`. */
export function describeSize(name: string, { pageSize, maxPageSize }: PageSizes): ParameterDescription {
  return {
    name,
    description: `The number of items on a page, at most ${maxPageSize}; larger values are reduced to ${maxPageSize}.`,
    schema: { type: 'integer', minimum: 1, default: pageSize },
  }
}

/** Parses a page size and limits it to the maximum. */
export function readSize(query: Parameters, name: string, { pageSize, maxPageSize }: PageSizes): number {
  const size = readCount(query, name, 1n, BigInt(pageSize))
  return size > BigInt(maxPageSize) ? maxPageSize : Number(size)
}

/** The length of parameters in a link, with separators. */
export function lengthOf(parameters: Readonly<Record<string, string>>): number {
  return Object.entries(parameters).reduce((sum, [name, value]) => sum + name.length + value.length + 2, 0)
}
