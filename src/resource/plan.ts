import type { FieldSpec, OrderSpec } from '../config/spec.js'
import type { FeaturePlans } from '../features/index.js'
import type { Lookup } from '../lookups/lookup.js'
import type { PageEdges, PageStart } from '../pagination/paginator.js'

export type { Selection } from '../features/selection.js'

/** The value of a primary key as handlers see it. */
export type Id = bigint | number | string

/** A stored record as handlers see it, by field name. */
export type Row = Readonly<Record<string, unknown>>

/** What must hold of a record for a change of it to be made: that its entity tag is one of some (`wanted`), or none of them. */
export interface Precondition {
  /** SHA-256 of the record's document, as hexadecimal digits; `any` stands for every tag there could be. */
  readonly tags: readonly string[] | 'any'
  readonly wanted: boolean
}

/** One comparison of a list. `value` is what the operand of the lookup parses to. */
export interface Condition {
  readonly field: FieldSpec
  readonly lookup: Lookup
  readonly value: unknown
}

/**
 * The rows that a request may see and change, by table: those that meet all of the conditions. A table without an entry is not narrowed.
 */
export type Scopes = ReadonlyMap<string, readonly Condition[]>

/** What a request for a list asks of the store. `order` ends with the primary key. */
export interface ListPlan extends Readonly<FeaturePlans> {
  readonly where: readonly Condition[]
  readonly order: readonly OrderSpec[]
  readonly start: PageStart
  /** Rows wanted; undefined is all. One row more is looked for when `total` is `none`. */
  readonly limit: number | undefined
  /** Whether the answer must carry the order's values of its first and last item. */
  readonly keyset: boolean
  readonly total: 'exact' | 'capped' | 'none'
}

/** What the store answers. */
export interface ListPage<Items> extends PageEdges {
  readonly items: Items
  /** How many they are. */
  readonly length: number
}
