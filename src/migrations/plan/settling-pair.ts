import type { Catalog, CatalogConstraint, CatalogIndex, CatalogTable } from '../introspect/catalog.js'
import type { WantedTable } from './sql.js'

/** One table that is on both sides. */
export interface SettlingPair {
  readonly wanted: WantedTable
  readonly from: CatalogTable
  readonly to: CatalogTable
  /** All tables that there are. */
  readonly known: Catalog
  /** All tables that are wanted. */
  readonly asked: Catalog
  /** Whether the generator made a part, under the names of before or of now. */
  readonly isOurs: (part: CatalogConstraint | CatalogIndex) => boolean
  /** What a column was called before the renames of the plan. */
  readonly former: (column: string) => string
}

/** Whether a part is left alone, when the file can say it or not. */
export type IsLeft = (part: CatalogConstraint | CatalogIndex, unsayable: boolean) => boolean
