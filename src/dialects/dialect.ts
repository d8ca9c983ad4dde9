import type { Lookup } from '../lookups/lookup.js'
import type { Json, JsonSchema } from '../json.js'
import type { PageSizes, ParameterDescription } from '../pagination/paginator.js'
import type { Fault } from '../problem.js'

/** Every parameter of a query string with its values, in order. `ids[0]=1&ids[1]=2` is one parameter, `ids`. */
export type Given = ReadonlyMap<string, readonly string[]>

/** One comparison that a client asks for. Several values are alternatives. */
export interface Comparison {
  /** What the client called it. */
  readonly parameter: string
  readonly field: string
  /** What it may mean; the first that the resource offers for the field is meant. */
  readonly lookups: readonly Lookup[]
  readonly values: readonly string[]
}

/** One part of the order that a client asks for. */
export interface Sorting {
  readonly field: string
  readonly descending: boolean
}

/** Some rows of a list: so many, after so many others. */
export interface Window {
  readonly offset: bigint
  /** As many as the client asks for, however many; undefined for all that follow. */
  readonly size: number | undefined
  /** Whether the client named the page by its number, in a dialect whose answers differ by that. */
  readonly numbered?: boolean
}

/** What a query string asks for, in the words of the resource. */
export interface Asked {
  readonly comparisons: readonly Comparison[]
  /** Words to look for; left out when the client looks for none. */
  readonly search?: string | undefined
  /** undefined when the client leaves the order to the resource. */
  readonly sorting: readonly Sorting[] | undefined
  /** undefined when the client names no page: `unpaged` says what it gets then, but for records whose ids it names, which it gets all. */
  readonly window: Window | undefined
}

/** What a dialect has to know of a resource to read a query string. */
export interface Vocabulary {
  /** The name of the primary key. */
  readonly key: string
  /** Whether lists can be filtered by a field of this name. */
  isField(name: string): boolean
  /** Whether the parameter for searches is one here. */
  readonly searches: boolean
  readonly sizes: PageSizes
}

/** An answer to a list, as far as its frame depends on it. */
export interface Listed {
  /** What records are called in the path: `books`. */
  readonly unit: string
  readonly window: Window & { readonly size: number }
  /** Whether the client named a page. */
  readonly paged: boolean
  /** Whether the records are sent before all of them are known: what the last of them decides has to follow them. */
  readonly streamed: boolean
  /** Records in the answer, and in all. */
  readonly length: number
  readonly total: number
  /** Whether `total` is an estimate. */
  readonly estimated: boolean
  /** The URLs of the neighbouring pages. */
  readonly next: string | undefined
  readonly previous: string | undefined
}

/** What stands around the array of records in an answer, and is said of it in headers. */
export interface Frame {
  readonly headers?: Readonly<Record<string, string>>
  readonly before?: string
  readonly after?: string
}

/** What a parameter is called that compares a field: it means the first of these that the resource offers. */
export interface FilterName {
  readonly name: string
  readonly lookups: readonly Lookup[]
}

/** What documents for clients say of a list. */
export interface ListDescription {
  /** All parameters but those that are filters. */
  readonly parameters: readonly ParameterDescription[]
  /** The parameters that compare a field, each with what it may mean; left out where filters are parts of one parameter. */
  filters?(field: string): readonly FilterName[]
  /** What stands around the records; nothing when left out. */
  frame?(records: JsonSchema): JsonSchema
  /** The headers that `frame` gives. */
  readonly headers?: readonly string[]
}

/** What a client is told of a request that cannot be done. */
export interface Refused {
  readonly title: string
  readonly status: number
  readonly message: string
  readonly faults: readonly Fault[]
}

/**
 * How clients of one kind speak to a resource, one object in one file: the parameters of their lists, and what they expect
 * of answers. It is chosen in resources.yaml, never guessed.
 */
export interface Dialect {
  /** What stands after `dialect:` in resources.yaml. */
  readonly name: string
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The parameters that say which page; links have them anew. */
  readonly paging: readonly string[]
  /** What a list is of which the client names no page: everything, or the first page. */
  readonly unpaged: 'everything' | 'first page'
  /** All its other parameters that are no filters. */
  readonly parameters: readonly string[]
  /** The parameter, or the member of one, that searches a resource which can be searched; left out where there is none. */
  readonly search?: string
  /** @throws Problem `invalid_query` */
  read(given: Given, words: Vocabulary): Asked
  /** The parameters that ask for a window, escaped as in a URL. */
  spell(offset: bigint, size: number): Readonly<Record<string, string>>
  frame(list: Listed): Frame
  /** @param fields the names of what lists can be ordered by */
  describe(sizes: PageSizes, fields: readonly string[]): ListDescription
  /** Whether PUT sets the fields that a body names, or replaces the record. */
  readonly put: 'merge' | 'replace'
  /** Whether DELETE answers 200 with the record as it was, or 204 with nothing. */
  readonly destroyed: 'record' | 'nothing'
  /** What stands behind the path of a list for making several records, and is the key of their array in the body; left out where there is no such path. */
  readonly bulk?: string
  /** Whether its clients ask for paths that end with no slash. */
  readonly bare?: boolean
  /** The body of a refusal, in place of a problem document. */
  refusal?(refused: Refused): Readonly<Record<string, Json>>
  /** The shape of that body. */
  readonly refusalSchema?: JsonSchema
}
