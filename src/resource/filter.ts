import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import { parameterOf } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { MAX_VALUES, type OperandSource } from '../lookups/operands.js'
import { Problem } from '../problem.js'
import type { LinkReader } from './links.js'
import type { Condition } from './plan.js'
import { quote } from './query.js'

/** Parses a query parameter to a condition. */
export interface Filter {
  readonly parameter: string
  readonly field: FieldSpec
  readonly lookup: Lookup
  /** @throws Problem `invalid_query` if the text is not a value of the field */
  read(text: string): Condition
}

/** The filters of a resource, by parameter. */
export function compileFilters(spec: ResourceSpec, readLink?: LinkReader): ReadonlyMap<string, Filter> {
  const filters = spec.filters.flatMap(({ field, lookups }) =>
    lookups.map((lookup): Filter => {
      const parameter = parameterOf(field.name, lookup)
      const source = operandSource({ parameter, field, readLink })
      return {
        parameter,
        field,
        lookup,
        read: (text) => ({ field, lookup, value: lookup.operand.parse(text, source) }),
      }
    }),
  )
  return new Map(filters.map((filter) => [filter.parameter, filter]))
}

/** The field of a comparison and the name of its parameter. */
interface Compared {
  readonly parameter: string
  readonly field: FieldSpec
  /** Parses the value of a relation that is shown as a link; undefined if there are none. */
  readonly readLink: LinkReader | undefined
  readonly maxValues?: number
}

/** How the operands of a parameter are parsed. */
export function operandSource({ parameter, field, readLink, maxValues = MAX_VALUES }: Compared): OperandSource {
  const problem = (fault: string) => new Problem('invalid_query', `${quote(parameter)} ${fault}`)
  return {
    maxValues,
    problem,
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
