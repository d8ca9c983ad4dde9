import { fail } from '../../foundation/fail.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'

/** A field that is written, and its column as SQL names it. */
export interface WriteColumn {
  readonly field: FieldSpec
  readonly column: string
}

/** How rows of a model are written. */
export interface WriteColumns {
  /** The columns of the fields that a row names, in the order of the row. */
  columnsOf(row: Row): readonly WriteColumn[]
  /** Assignments that every update adds, such as `updated_at = now()`. */
  readonly touched: readonly string[]
}

export function writeColumnsOf(model: ModelSpec): WriteColumns {
  const columns = new Map(model.fields.map((field) => [field.name, { field, column: identifier(field.column) }]))
  const onUpdate = model.fields.filter(({ auto }) => auto === 'on_update')
  return {
    columnsOf: (row) => Object.keys(row).map((name) => columns.get(name) ?? fail(`${model.name} has no field ${name}`)),
    touched: onUpdate.map((field) => `${identifier(field.column)} = now()`),
  }
}
