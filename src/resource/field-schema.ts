import type { FieldSpec } from '../config/spec.js'
import type { JsonSchema } from '../json.js'

/** What the values of a field are held to, null aside. */
export function valueSchema(field: FieldSpec): JsonSchema {
  return Object.assign({}, ...field.type.rules(field.options).map((rule) => rule.schema))
}

/** The same, in words that clients know. */
export function describedSchema(field: FieldSpec): JsonSchema {
  const described = field.type.rules(field.options).map((rule) => rule.described)
  const { documentedRules } = field.type
  return portable(Object.assign(valueSchema(field), ...described, documented(field), documentedRules?.(field.options)))
}

/** A value of the type, whatever the rules. */
export function comparedSchema(field: FieldSpec): JsonSchema {
  return portable({ ...field.type.rules(field.options)[0]?.schema, ...documented(field) })
}

function documented(field: FieldSpec): JsonSchema {
  return field.type.documented?.(field.options) ?? {}
}

/** Without what only this program knows: a format of ours, and bounds that JavaScript rounds, of which the format of the number speaks. */
function portable(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    if (keyword === 'format') return value !== 'storable-text'
    return !['minimum', 'maximum'].includes(keyword) || schema['type'] !== 'integer' || Number.isSafeInteger(value)
  })
  return Object.fromEntries(kept)
}
