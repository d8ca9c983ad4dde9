import type { IndexNeed } from '../../features/feature.js'
import { indexUses } from '../../features/index.js'
import type { FieldSpec, ResourceSpec } from '../spec.js'

/** A way in which a resource lets clients read its table, and the index without which it reads the whole table. */
export interface Need extends IndexNeed {
  readonly resource: ResourceSpec
  readonly field: FieldSpec
}

/** All needs of the lists of a resource. */
export function needsOf(resource: ResourceSpec): readonly Need[] {
  return indexUses(resource).flatMap(({ field, need }) => (need === undefined ? [] : [{ ...need, resource, field }]))
}

/** The columns by which the lists of a resource find or order rows: an index that starts with another column serves no list. */
export function columnsInUse(resource: ResourceSpec): readonly string[] {
  return indexUses(resource).map(({ field }) => field.column)
}
