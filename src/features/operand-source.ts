import type { FieldSpec } from '../config/model-spec.js'
import { MAX_VALUES, type OperandSource } from '../lookups/operands.js'
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
  const problem = (message: string) => new Problem('invalid_query', `${quote(parameter)} ${message}`)
  return {
    maxValues,
    problem,
    items: items && operandSource({ parameter, field: { ...field, ...items }, readLink: undefined, maxValues }),
    value(text) {
      const value = readLink?.(field, text) ?? field.type.parse(text, field.options)
      if (value !== undefined) return value
      const { name, choices } = field.type
      const known = choices?.(field.options)
      throw new Problem(
        'invalid_query',
        known === undefined
          ? `the value of ${quote(parameter)} is not valid for a field of the type ${name}`
          : `the value of ${quote(parameter)} must be one of: ${known.join(', ')}; got ${quote(text)}`,
      )
    },
  }
}
