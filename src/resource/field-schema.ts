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

/** The message for a value that breaks the rule of a name. */
export function brokenMessage({ type, options, label, message }: FieldSpec, name: string | undefined): string {
  const rule = type.rules(options).find((each) => each.name === name)
  return message ?? `${label} ${rule?.message ?? 'is not valid'}`
}

/** Whether a field rejects empty text because it is part of a path. */
export function rejectsEmpty(field: FieldSpec): boolean {
  return field.primaryKey && !field.target && isEscaped(field)
}

/** The value of a new record that leaves out the field; undefined if it has none, or one that the field rejects. */
export function usableDefault(field: FieldSpec): FieldSpec['default'] {
  const { default: standard } = field
  return standard && 'literal' in standard && standard.literal === '' && rejectsEmpty(field) ? undefined : standard
}

/** Whether a new record may leave out the field. */
export function isOptional(field: FieldSpec): boolean {
  return field.nullable || usableDefault(field) !== undefined
}
