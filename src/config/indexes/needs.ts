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
function needsOf(resource: ResourceSpec): readonly Need[] {
  return indexUses(resource).flatMap(({ field, model = resource.model, need }) =>
    need === undefined ? [] : [{ ...need, resource, field, model }],
  )
}

/** The needs of all lists, by the model whose table needs the index. */
export function needsByModel(resources: readonly ResourceSpec[]): ReadonlyMap<ModelSpec, readonly Need[]> {
  const needs = new Map<ModelSpec, Need[]>()
  for (const need of resources.flatMap(needsOf)) {
    const known = needs.get(need.model)
    if (known) known.push(need)
    else needs.set(need.model, [need])
  }
  return needs
}

/** The columns of each model by which lists find or order rows: an index that starts with another column serves no list. */
export function columnsInUse(resources: readonly ResourceSpec[]): ReadonlyMap<ModelSpec, ReadonlySet<string>> {
  const columns = new Map<ModelSpec, Set<string>>()
  for (const resource of resources) {
    for (const { field, model = resource.model } of indexUses(resource)) {
      const known = columns.get(model)
      if (known) known.add(field.column)
      else columns.set(model, new Set([field.column]))
    }
  }
  return columns
}
