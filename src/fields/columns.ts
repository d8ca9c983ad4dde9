import type { ColumnForm, ExistingColumn } from './existing-column.js'
import { canBeKey, type FieldType } from './field-type.js'
import { FIELD_TYPES } from './index.js'

/** A field type that can describe a column, and how. */
export interface TypedForm {
  readonly type: FieldType
  readonly form: ColumnForm
}

/** Every field type that can describe a column. */
export function formsOf(column: ExistingColumn): readonly TypedForm[] {
  return FIELD_TYPES.flatMap((type) => {
    const form = type.fromColumn?.(column)
    return form ? [{ type, form }] : []
  })
}

/** The first field type that can describe a column. All of them read checks and defaults in the same way. */
export function formOf(column: ExistingColumn): TypedForm | undefined {
  return formsOf(column)[0]
}

/** The range of a type whose columns a sequence can fill; undefined for other types. */
export function sequenceRange(type: string): ColumnForm['sequenceRange'] {
  return formOf({ type, collation: null, labels: null })?.form.sequenceRange
}

/** The field type for a primary key in a column; undefined if there is none. */
export function keyTypeOf(column: ExistingColumn): FieldType | undefined {
  return formsOf(column).find(({ type, form }) => canBeKey(type, form.options({}) ?? {}))?.type
}
