import { fail } from '../../fail.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'

/** How rows of a model are written. */
export interface WriteColumns {
  /** The fields that a row names, in the order of the row. */
  fieldsOf(row: Row): readonly FieldSpec[]
  /** Assignments that every update adds, such as `updated_at = now()`. */
  readonly touched: readonly string[]
}

export function writeColumnsOf(model: ModelSpec): WriteColumns {
  const fields = new Map(model.fields.map((field) => [field.name, field]))
  const onUpdate = model.fields.filter(({ auto }) => auto === 'on_update')
  return {
    fieldsOf: (row) => Object.keys(row).map((name) => fields.get(name) ?? fail(`${model.name} has no field ${name}`)),
    touched: onUpdate.map((field) => `${identifier(field.column)} = now()`),
  }
}
