import { type FieldSpec, isEscaped } from '../config/model-spec.js'
import { describedSchema as describedValue } from '../fields/value-schema.js'
import type { JsonSchema } from '../foundation/json.js'

/** The path of a related record. */
export const LINK: JsonSchema = { type: 'string', format: 'uri-reference' }

/** The schema of a field's values, except null, for documents. */
export function describedSchema(field: FieldSpec): JsonSchema {
  const schema = describedValue(field)
  return rejectsEmpty(field) ? { minLength: 1, ...schema } : schema
}

/** Whether a field rejects empty text because it is part of a path. */
export function rejectsEmpty(field: FieldSpec): boolean {
  return field.primaryKey && !field.target && isEscaped(field)
}
