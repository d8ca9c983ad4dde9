import type { OrderSpec } from '../config/spec.js'
import type { Condition } from '../features/filterable.js'
import type { FeaturePlans } from '../features/index.js'
import type { PageEdges, PageStart } from '../pagination/paginator.js'

export type { Condition } from '../features/filterable.js'
export type { Selection } from '../features/selection.js'

/** The value of a primary key as handlers see it: the value of its field, or an object with the values of all its fields. */
export type Id = bigint | number | string | Readonly<Record<string, unknown>>

/** A stored record as handlers see it, by field name. */
export type Row = Readonly<Record<string, unknown>>

/** A condition for a write: the record's entity tag is one of these tags (`wanted`), or none of them. */
export interface Precondition {
  /** SHA-256 of the record's document in hexadecimal; `any` matches every tag. */
  readonly tags: readonly string[] | 'any'
  readonly wanted: boolean
}

/** The rows that a request may see and change, by table: the rows that meet all conditions. A table without an entry is not narrowed. */
export type Scopes = ReadonlyMap<string, readonly Condition[]>

/** A parsed list request for the store. `order` ends with the primary key. */
export interface ListPlan extends Readonly<FeaturePlans> {
  readonly where: readonly Condition[]
  readonly order: readonly OrderSpec[]
  readonly start: PageStart
  /** The maximum number of rows; undefined for all. If `total` is `none`, one more row is read. */
  readonly limit: number | undefined
  /** Whether the result needs the order values of its first and last item. */
  readonly keyset: boolean
  /** Above a limit, `capped` is estimated, and `stepwise` is counted by a statement of its own. */
  readonly total: 'exact' | 'capped' | 'stepwise' | 'none'
}

/** The result of a list. */
export interface ListPage<Items> extends PageEdges {
  readonly items: Items
  /** The number of items. */
  readonly length: number
}
