import type { Catalog, CatalogConstraint, CatalogIndex, CatalogTable } from '../../introspect/catalog/catalog.js'
import type { WantedTable } from '../sql.js'

/** The schema that the migrations should lead to, as SQL and as its catalogue. */
export interface TargetSchema {
  readonly wanted: readonly WantedTable[]
  readonly to: Catalog
}

/** A table that both schemas have. */
export interface ReconcilePair {
  readonly wanted: WantedTable
  readonly from: CatalogTable
  readonly to: CatalogTable
  /** All existing tables. */
  readonly known: Catalog
  /** All wanted tables. */
  readonly asked: Catalog
  /** Tables that may be dropped. */
  readonly dropped: readonly string[]
  /** Whether a part was generated, by its name before or after the renames. */
  readonly isOurs: (part: CatalogConstraint | CatalogIndex) => boolean
  /** Whether a constraint belongs to resources.yaml under the name that another tool gave it. */
  readonly isTakenOver: (constraint: CatalogConstraint) => boolean
  /** Whether files list a part as owned by resources.yaml. */
  readonly isRecorded: (name: string) => boolean
  /** Returns the name of a column before the renames of the plan. */
  readonly former: (column: string) => string
}

/** Whether a plan ignores a part, given whether resources.yaml can express it. */
export type IsLeft = (part: CatalogConstraint | CatalogIndex, inexpressible: boolean) => boolean
