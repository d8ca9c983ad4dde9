import { formOf } from '../../../fields/columns.js'
import type { CatalogColumn, CatalogTable } from '../catalog/catalog.js'
import type { InspectedTable } from '../catalog/inspect.js'
import { isOpaque, isRepresentable } from '../catalog/representable.js'

/** A table as it was inspected, and as plans compare it. */
export interface Table {
  readonly inspected: InspectedTable
  readonly live: CatalogTable
  /** Whether migrations of this project make it. */
  readonly managed: boolean
}

/** Whether a field can describe a column. In a managed table, an opaque column with a default gets a field only if it is nullable. */
export function canBeField(column: CatalogColumn, { inspected: { columns }, managed }: Table): boolean {
  if (!managed) return formOf(column) !== undefined
  const isForeign = columns.some(({ name, foreign }) => name === column.name && foreign)
  // Migrations create enums only in their own schema.
  if (isRepresentable(column)) return !isForeign || column.labels === null
  // An opaque field would hide the values of an enum from migration plans.
  if (column.generated || !isOpaque(column) || column.labels !== null) return false
  return !isForeign && (column.nullable || column.default === null)
}
