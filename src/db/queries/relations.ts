import type { ModelRelation, ModelSpec } from '../../config/spec.js'

/** The relations of a model's class. Each has its own name, unless a column has that name. */
export function relationsOf({ fields, relations }: Pick<ModelSpec, 'fields' | 'relations'>): readonly ModelRelation[] {
  const columns = new Set(fields.map(({ column }) => column))
  return relations.map((relation) => ({
    ...relation,
    name: columns.has(relation.name) ? `${relation.name}_record` : relation.name,
  }))
}
