import { type FieldSpec, isEscaped } from '../config/core-spec.js'
import type { JsonSchema } from '../json.js'

/** The path of a related record. */
export const LINK: JsonSchema = { type: 'string', format: 'uri-reference' }

/** The schema of a field's values, except null. */
export function valueSchema(field: FieldSpec): JsonSchema {
  return Object.assign({}, ...field.type.rules(field.options).map((rule) => rule.schema))
}

/** The same for documents. */
export function describedSchema(field: FieldSpec): JsonSchema {
  const described = field.type.rules(field.options).map((rule) => rule.described)
  const { documentedRules } = field.type
  const schema = Object.assign(
    valueSchema(field),
    ...described,
    documented(field),
    documentedRules?.(field.options),
  ) as JsonSchema
  return portable(isEmptyRefused(field) ? { minLength: 1, ...schema } : schema)
}

/** Whether a field takes no empty text because it is a part of a path. */
export function isEmptyRefused(field: FieldSpec): boolean {
  return field.primaryKey && !field.target && isEscaped(field)
}

/** The schema of the type, without the field's rules. */
export function comparedSchema(field: FieldSpec): JsonSchema {
  return portable({ ...field.type.rules(field.options)[0]?.schema, ...documented(field) })
}

function documented(field: FieldSpec): JsonSchema {
  return field.type.documented?.(field.options) ?? {}
}

/** Removes what other programs do not understand: our own formats, and bounds that JavaScript rounds, which the number's format implies. */
function portable(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    if (keyword === 'format') return value !== 'storable-text' && value !== 'base64'
    return !['minimum', 'maximum'].includes(keyword) || schema['type'] !== 'integer' || Number.isSafeInteger(value)
  })
  return Object.fromEntries(kept)
}
