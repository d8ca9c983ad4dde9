import type { FieldSpec, ModelSpec } from '../../config/spec.js'

/** A relation of a model's class to another, and the field that holds the key. */
export interface ModelRelation {
  readonly name: string
  readonly field: FieldSpec
}

/** The relations of a model's class. One has the name of its field, and another name only where a column has that one. */
export function relationsOf({ fields }: Pick<ModelSpec, 'fields'>): readonly ModelRelation[] {
  const columns = new Set(fields.map(({ column }) => column))
  return fields
    .filter(({ target }) => target !== undefined)
    .map((field) => ({ name: columns.has(field.name) ? `${field.name}_record` : field.name, field }))
}
