import type { FieldSpec } from '../config/spec.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import { comparedSchema, ruleBrokenBy, valueSchema } from '../fields/value-schema.js'
import { describedSchema, rejectsEmpty, LINK } from '../resource/field-schema.js'
import type { CompileSchema } from '../resource/validator.js'

/** The schemas of fields, and valid examples if the search for them is enabled. */
export interface FieldSchemas {
  /** A value in responses. */
  shown(field: FieldSpec, link: boolean): JsonSchema
  /** A value in bodies; relations shown as links accept links as well. */
  taken(field: FieldSpec, link: boolean): JsonSchema
  /** A value in a filter or path: of the type, without the field's rules. */
  compared(field: FieldSpec): JsonSchema
  /** A valid example for bodies; undefined if none is known. */
  example(field: FieldSpec): Json | undefined
}

/**
 * Compiles the schemas from the same rules that bodies are validated against.
 * @param compile validates examples; without it there are none
 */
export function compileFieldSchemas(compile?: CompileSchema): FieldSchemas {
  const example = (field: FieldSpec) => {
    if (!compile) return undefined
    const isValid = compile(valueSchema(field))
    const examples = field.type.examplesOf?.(field.options) ?? field.type.examples
    const known = examples.filter(({ source }) => source === undefined).map(({ wire, json }) => wire ?? json)
    const candidates: readonly Json[] = field.type.orderable ? [1, field.label, ...known] : known
    return candidates.find((value) => {
      if (isValid(value).size > 0 || (value === '' && rejectsEmpty(field))) return false
      return ruleBrokenBy(field, value, JSON.stringify(value)) === undefined
    })
  }
  const withExample = (field: FieldSpec, schema: JsonSchema) => {
    const value = example(field)
    return value === undefined ? schema : { ...schema, examples: [value] }
  }

  return {
    example,
    shown(field, link) {
      const schema = link ? LINK : withExample(field, describedSchema(field))
      return { ...nullable(field, schema), ...(field.readOnly && { readOnly: true }) }
    },
    taken(field, link) {
      const value = describedSchema(field)
      const schema = link ? { anyOf: [value, LINK] } : withExample(field, value)
      const rules = [...new Set(field.type.rules(field.options).map((rule) => rule.message))]
      return {
        ...nullable(field, schema),
        description: field.message ?? `${field.label} ${rules.join(', ')}`,
        ...(field.default && 'literal' in field.default && { default: field.default.literal }),
        ...(field.writeOnly && { writeOnly: true }),
      }
    },
    compared: comparedSchema,
  }
}

function nullable({ nullable }: FieldSpec, schema: JsonSchema): JsonSchema {
  if (!nullable) return schema
  const { type, not, anyOf, ...rest } = schema
  if (Array.isArray(anyOf)) return { ...rest, anyOf: [...(anyOf as readonly unknown[]), { type: 'null' }] }
  // A schema that accepts every non-null value, or null.
  if (not !== undefined) return rest
  const values = rest['enum']
  return { type: [type, 'null'], ...rest, ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }) }
}
