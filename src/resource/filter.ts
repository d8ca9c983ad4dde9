import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import type { Lookup } from '../fields/field-type.js'
import { Problem } from '../problem.js'
import type { Condition } from './plan.js'
import { quote } from './query.js'

/** Turns the text of one query parameter into a condition. */
export interface Filter {
  readonly parameter: string
  readonly field: FieldSpec
  readonly lookup: Lookup
  /** @throws Problem `invalid_query` when the text is no value of the field */
  read(text: string): Condition
}

const MOST_VALUES = 100

/** `language` compares for equality; every other lookup is spelled out: `created_at__gte`. */
export function compileFilters(spec: ResourceSpec): ReadonlyMap<string, Filter> {
  const filters = spec.filters.flatMap(({ field, lookups }) =>
    lookups.map((lookup): Filter => {
      const parameter = lookup === 'exact' ? field.name : `${field.name}__${lookup}`
      return {
        parameter,
        field,
        lookup,
        read: (text) => ({ field, lookup, value: read(parameter, field, lookup, text) }),
      }
    }),
  )
  return new Map(filters.map((filter) => [filter.parameter, filter]))
}

function read(parameter: string, field: FieldSpec, lookup: Lookup, text: string): unknown {
  if (lookup === 'isnull') return readFlag(parameter, text)
  if (lookup !== 'in') return readValue(parameter, field, text)
  const texts = splitList(text)
  if (texts.length > MOST_VALUES)
    throw new Problem('invalid_query', `${quote(parameter)} takes at most ${MOST_VALUES} values`)
  return texts.map((item) => readValue(parameter, field, item))
}

function readValue(parameter: string, field: FieldSpec, text: string): unknown {
  const value = field.type.parse(text, field.options)
  if (value === undefined)
    throw new Problem(
      'invalid_query',
      `the value of ${quote(parameter)} is not valid for a field of the type ${field.type.name}`,
    )
  return value
}

function readFlag(parameter: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Problem('invalid_query', `${quote(parameter)} takes true or false`)
  return text === 'true'
}

/** Values between commas; a comma inside a value is written `\,` and a backslash `\\`. */
function splitList(text: string): readonly string[] {
  // With a comma in front, every value starts with one, an empty first one too.
  const items = `,${text}`.match(/,(?:\\[\s\S]|[^,\\]|\\$)*/g) ?? []
  return items.map((item) => item.slice(1).replaceAll(/\\([\s\S])/g, '$1'))
}
