import { fail } from '../../fail.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'

/** How the rows of a model are written. */
export interface Written {
  /** The fields that a row names, in its order. */
  fieldsOf(row: Row): readonly FieldSpec[]
  /** What every change sets besides. */
  readonly touched: readonly string[]
}

export function writtenOf(model: ModelSpec): Written {
  const fields = new Map(model.fields.map((field) => [field.name, field]))
  const onUpdate = model.fields.filter(({ auto }) => auto === 'on_update')
  return {
    fieldsOf: (row) => Object.keys(row).map((name) => fields.get(name) ?? fail(`${model.name} has no field ${name}`)),
    touched: onUpdate.map((field) => `${identifier(field.column)} = now()`),
  }
}
