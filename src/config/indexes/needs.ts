import type { IndexNeed } from '../../features/feature.js'
import { indexUses } from '../../features/index.js'
import type { FieldSpec, ResourceSpec } from '../spec.js'

/** One way in which a resource lets clients read its table, and the index that keeps the table from being read whole. */
export interface Need extends IndexNeed {
  readonly resource: ResourceSpec
  readonly field: FieldSpec
}

/** Everything that the lists of a resource need. */
export function needsOf(resource: ResourceSpec): readonly Need[] {
  return indexUses(resource).flatMap(({ field, need }) => (need === undefined ? [] : [{ ...need, resource, field }]))
}

/** The columns by which the lists of a resource find or order rows: an index that starts with another serves none of them. */
export function columnsInUse(resource: ResourceSpec): readonly string[] {
  return indexUses(resource).map(({ field }) => field.column)
}
