import type { FieldSpec } from '../config/model-spec.js'
import { MAX_VALUES, type OperandSource } from '../lookups/operands.js'
import type { Typed } from '../fields/field-type.js'
import { Problem } from '../foundation/problem.js'
import { quote } from '../resource/query.js'
import type { LinkReader } from './feature.js'

/** The field of a comparison and the name of its parameter. */
interface Compared {
  readonly parameter: string
  readonly field: FieldSpec
  /** Parses the value of a relation that is shown as a link; undefined if the field is not shown as one. */
  readonly readLink: LinkReader | undefined
  readonly maxValues?: number
}

/** How the operands of a parameter are parsed. */
export function operandSource({ parameter, field, readLink, maxValues = MAX_VALUES }: Compared): OperandSource {
  const items = field.type.items?.(field.options)
  const rejected = (detail: string) =>
    new Problem('invalid_query', detail, { errors: [{ field: parameter, message: detail }] })
  return {
    maxValues,
    problem: (message) => rejected(`${quote(parameter)} ${message}`),
    items: items && operandSource({ parameter, field: { ...field, ...items }, readLink: undefined, maxValues }),
    value(text) {
      const value = readLink?.(field, text) ?? field.type.parse(text, field.options)
      if (value !== undefined) return value
      throw rejected(`the value of ${quote(parameter)} ${wantedText(field)}; got ${quote(text)}`)
    },
  }
}

/** Says of a parameter which texts are valid, for errors: `must be like …`. A text without a format is invalid only if PostgreSQL cannot store it. */
export function wantedText({ type, options }: Typed): string {
  const known = type.choices?.(options)
  if (known !== undefined) return `must be one of: ${known.join(', ')}`
  const [example] = type.comparisons.includes('text') ? [] : (type.examplesOf?.(options) ?? type.examples)
  return example ? `must be like ${quote(example.text)}` : `is not valid for a field of the type ${type.name}`
}
