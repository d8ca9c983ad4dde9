import type { ModelRelation, ModelSpec } from '../../config/spec.js'

/** The relations of a model's class. One has its own name, and another only where a column has that one. */
export function relationsOf({ fields, relations }: Pick<ModelSpec, 'fields' | 'relations'>): readonly ModelRelation[] {
  const columns = new Set(fields.map(({ column }) => column))
  return relations.map((relation) => ({
    ...relation,
    name: columns.has(relation.name) ? `${relation.name}_record` : relation.name,
  }))
}
