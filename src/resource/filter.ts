import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import type { Lookup } from '../fields/field-type.js'
import { Problem } from '../problem.js'
import type { LinkReader } from './links.js'
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

/** Values that one `in` compares with, at most. */
export const MOST_VALUES = 100

/** `language` compares for equality; every other lookup is spelled out: `created_at__gte`. */
export function compileFilters(spec: ResourceSpec, readLink?: LinkReader): ReadonlyMap<string, Filter> {
  const filters = spec.filters.flatMap(({ field, lookups }) =>
    lookups.map((lookup): Filter => {
      const parameter = lookup === 'exact' ? field.name : `${field.name}__${lookup}`
      return {
        parameter,
        field,
        lookup,
        read: (text) => ({ field, lookup, value: read({ parameter, field, readLink }, lookup, text) }),
      }
    }),
  )
  return new Map(filters.map((filter) => [filter.parameter, filter]))
}

/** What a value is compared with, and what the client called it. */
export interface Compared {
  readonly parameter: string
  readonly field: FieldSpec
  /** Reads the value of a relation that is shown as a link; left out where nothing is. */
  readonly readLink?: LinkReader | undefined
}

function read(compared: Compared, lookup: Lookup, text: string): unknown {
  if (lookup === 'isnull') return readFlag(compared.parameter, text)
  if (lookup !== 'in') return readValue(compared, text)
  return readValues(compared, splitList(text))
}

/** @throws Problem `invalid_query` when one of the texts is no value of the field, and when they are too many */
export function readValues(compared: Compared, texts: readonly string[], most = MOST_VALUES): readonly unknown[] {
  if (texts.length > most)
    throw new Problem('invalid_query', `${quote(compared.parameter)} takes at most ${most} values`)
  return texts.map((item) => readValue(compared, item))
}

/** @throws Problem `invalid_query` when the text is no value of the field */
export function readValue({ parameter, field, readLink }: Compared, text: string): unknown {
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
}

/** @throws Problem `invalid_query` when the text is neither true nor false */
export function readFlag(parameter: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Problem('invalid_query', `${quote(parameter)} takes true or false`)
  return text === 'true'
}

/** Values between commas; a comma inside a value is written `\,` and a backslash `\\`. */
function splitList(text: string): readonly string[] {
  // With a comma in front, every value starts with one, an empty first one too.
  const items = `,${text}`.match(/,(?:\\[\s\S]|[^,\\]|\\$)*/g) ?? []
  return items.map((item) => item.slice(1).replaceAll(/\\([\s\S])/g, '$1'))
}
