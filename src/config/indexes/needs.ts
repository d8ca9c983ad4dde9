import type { IndexNeed } from '../../features/feature.js'
import { indexUses } from '../../features/index.js'
import type { FieldSpec, ModelSpec, ResourceSpec } from '../spec.js'

/** A way in which a resource lets clients read its table, and the index without which it reads the whole table. */
export interface Need extends IndexNeed {
  readonly resource: ResourceSpec
  readonly field: FieldSpec
  /** The model whose table needs the index. */
  readonly model: ModelSpec
}

/** All needs of the lists of a resource. */
export function needsOf(resource: ResourceSpec): readonly Need[] {
  return indexUses(resource).flatMap(({ field, model = resource.model, need }) =>
    need === undefined ? [] : [{ ...need, resource, field, model }],
  )
}

/** The columns of a model by which the lists of a resource find or order rows: an index that starts with another serves none of them. */
export function columnsInUse(resource: ResourceSpec, wanted: ModelSpec): readonly string[] {
  return indexUses(resource).flatMap(({ field, model = resource.model }) => (model === wanted ? [field.column] : []))
}
