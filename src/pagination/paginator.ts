import type { FieldType } from '../fields/field-type.js'
import { Problem } from '../problem.js'

/** The relations of RFC 8288 that a list answers with. */
export type Rel = 'first' | 'prev' | 'next' | 'last'

/** The parameters that lead to each neighbour of a page. */
export type PageLinks = ReadonlyMap<Rel, Readonly<Record<string, string>>>

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

/** One part of a list's order. */
export interface Ordered {
  readonly field: {
    readonly name: string
    readonly nullable: boolean
    readonly type: FieldType
    readonly options: object
  }
  readonly descending: boolean
}

export type Parameters = ReadonlyMap<string, string>

/** A style of pagination, one object in one file. */
export interface PaginationStyle {
  /** What stands after `style:` in resources.yaml. */
  readonly name: string
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The query parameters it takes; no filter can have their names. */
  readonly parameters: readonly string[]
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

/** A size of page, at most the largest allowed. */
export function readSize(query: Parameters, name: string, { pageSize, maxPageSize }: PageSizes): number {
  const size = readCount(query, name, 1n, BigInt(pageSize))
  return size > BigInt(maxPageSize) ? maxPageSize : Number(size)
}
