import type { Lookup } from '../lookups/lookup.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import type { PageSizes, ParameterDescription } from '../pagination/paginator.js'
import type { FieldError } from '../foundation/problem.js'

/** The query parameters with their values, in order. `ids[0]=1&ids[1]=2` is one parameter, `ids`. */
export type QueryParameters = ReadonlyMap<string, readonly string[]>

/** One requested comparison. It has several values if any of them may match. */
export interface Comparison {
  /** The parameter's name. */
  readonly parameter: string
  readonly field: string
  /** Its possible meanings; the first one that the resource offers for the field applies. */
  readonly lookups: readonly Lookup[]
  readonly values: readonly string[]
}

/** One part of the requested order. */
export interface Sorting {
  readonly field: string
  readonly descending: boolean
}

/** A range of rows: `size` rows after `offset`. */
export interface Window {
  readonly offset: bigint
  /** The requested size, without a limit; undefined for all following rows. */
  readonly size: number | undefined
  /** Whether the client named a page number, in dialects whose responses depend on that. */
  readonly numbered?: boolean
}

/** A parsed query string, in terms of the resource. */
export interface ParsedQuery {
  readonly comparisons: readonly Comparison[]
  /** The words to search for; undefined without a search. */
  readonly search?: string | undefined
  /** Undefined for the resource's default order. */
  readonly sorting: readonly Sorting[] | undefined
  /** Undefined if the client names no page: then `unpaged` applies, except that records requested by id are always all returned. */
  readonly window: Window | undefined
}

/** The facts about a resource that a dialect needs to parse a query string. */
export interface Vocabulary {
  /** The name of the primary key. */
  readonly key: string
  /** Whether lists can be filtered by a field of this name. */
  isField(name: string): boolean
  /** Whether the search parameter is available. */
  readonly searches: boolean
  readonly sizes: PageSizes
}

/** The facts about a list that its envelope depends on. */
export interface Listed {
  /** The name of the records in the path: `books`. */
  readonly unit: string
  readonly window: Window & { readonly size: number }
  /** Whether the client named a page. */
  readonly paged: boolean
  /** Whether records are sent before all of them are known: then everything that depends on the last one must follow them. */
  readonly streamed: boolean
  /** The number of records in the response, and in all. */
  readonly length: number
  readonly total: number
  /** Whether `total` is an estimate. */
  readonly estimated: boolean
  /** The URLs of neighbouring pages. */
  readonly next: string | undefined
  readonly previous: string | undefined
}

/** The text around the array of records in a response, and its headers. */
export interface Frame {
  readonly headers?: Readonly<Record<string, string>>
  readonly before?: string
  readonly after?: string
}

/** A filter parameter and its possible meanings; the first one that the resource offers applies. */
export interface FilterName {
  readonly name: string
  readonly lookups: readonly Lookup[]
}

/** Describes a list for documents. */
export interface ListDescription {
  /** All parameters except filters. */
  readonly parameters: readonly ParameterDescription[]
  /** The filter parameters of a field with their possible meanings; undefined if one parameter holds all filters. */
  filters?(field: string): readonly FilterName[]
  /** The schema of the envelope; the default is none. */
  frame?(records: JsonSchema): JsonSchema
  /** The headers that `frame` adds. */
  readonly headers?: readonly string[]
}

/** A rejected request, as reported to the client. */
export interface Rejected {
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors: readonly FieldError[]
}

/**
 * How one kind of client speaks to a resource: the parameters of lists, and the form of responses. Each dialect is one file, selected in
 * resources.yaml and never guessed.
 */
export interface Dialect {
  /** The value of `dialect` in resources.yaml. */
  readonly name: string
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The paging parameters, which links replace. */
  readonly paging: readonly string[]
  /** The result of a list without a page: everything, or the first page. */
  readonly unpaged: 'everything' | 'first page'
  /** All other parameters that are not filters. */
  readonly parameters: readonly string[]
  /** Whether one parameter holds the values of a list, separated by commas as in `splitList`. */
  readonly commas?: true
  /** The search parameter, or the member of one; undefined if there is none. */
  readonly search?: string
  /** @throws Problem `invalid_query` */
  read(given: QueryParameters, words: Vocabulary): ParsedQuery
  /** The parameters for a window, URL-encoded. A client that follows a link gets a response of the same form. */
  format(window: Window & { readonly size: number }): Readonly<Record<string, string>>
  frame(list: Listed): Frame
  /** @param fields the names of the orderable fields */
  describe(sizes: PageSizes, fields: readonly string[]): ListDescription
  /** Whether PUT changes the given fields, or replaces the record. */
  readonly put: 'merge' | 'replace'
  /** Whether DELETE returns 200 with the deleted record, or 204. */
  readonly destroyed: 'record' | 'nothing'
  /** The path segment for creating several records, which is also the key of the array in the body; undefined if there is none. */
  readonly bulk?: string
  /** Whether its clients use paths without a trailing slash. */
  readonly bare?: boolean
  /** The body of an error response, instead of a problem document. */
  rejection?(rejected: Rejected): Readonly<Record<string, Json>>
  /** The schema of that body. */
  readonly rejectionSchema?: JsonSchema
}
