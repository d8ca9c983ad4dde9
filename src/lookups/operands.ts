import type { JsonSchema } from '../json.js'
import { isStorable } from '../fields/formats.js'

/** The most values that one list takes. */
export const MAX_VALUES = 100

/** The facts about a parameter that parsing its operand requires. */
export interface OperandSource {
  /** The most values that a list takes. */
  readonly maxValues: number
  /** Parses one value of the field. @throws Problem `invalid_query` */
  value(text: string): unknown
  /** The Problem `invalid_query` about the parameter: `takes true or false`. */
  problem(fault: string): Error
}

/** The right side of a comparison: how it is parsed, and how documents and forms describe it. */
export interface Operand<Value = unknown> {
  /** @throws Problem `invalid_query` */
  parse(text: string, source: OperandSource): Value
  /** For operands of several values. */
  readonly list?: {
    limits(maxValues: number): { readonly minItems?: number; readonly maxItems: number }
    /** Parses texts that the client separated already. @throws Problem `invalid_query` */
    parse(texts: readonly string[], source: OperandSource): Value
  }
  /** The schema of the operand, or of each value of a list, from the schema of a value of the field. */
  schema(value: JsonSchema): JsonSchema
  /** Its type in TypeScript, from the type of a value of the field. */
  typescript(value: string): string
  /** The texts that it can be, where there are few. */
  readonly choices?: readonly string[]
  readonly placeholder?: string
}

/** A value of the field. */
export const VALUE: Operand = {
  parse: (text, source) => source.value(text),
  schema: (value) => value,
  typescript: (value) => value,
}

/** A text that need not be valid for the field: `ad` is not an email address, but addresses start with it. */
export const TEXT: Operand<string> = {
  parse(text, source) {
    if (!isStorable(text)) throw source.problem('must not contain U+0000 or an unpaired surrogate')
    return text
  },
  schema: () => ({ type: 'string' }),
  typescript: () => 'string',
}

/** True or false. */
export const FLAG: Operand<boolean> = {
  parse(text, source) {
    if (text !== 'true' && text !== 'false') throw source.problem('takes true or false')
    return text === 'true'
  },
  schema: () => ({ type: 'boolean' }),
  typescript: () => 'boolean',
  choices: ['true', 'false'],
}

/** Any number of values of the field, up to a limit. */
export const VALUES: Operand<readonly unknown[]> = {
  parse: (text, source) => parseValues(splitList(text), source),
  list: { limits: (maxItems) => ({ maxItems }), parse: (texts, source) => parseValues([...new Set(texts)], source) },
  schema: (value) => value,
  typescript: (value) => `readonly (${value})[]`,
  placeholder: 'one, another',
}

/** Parses each text as a value of the field. @throws Problem `invalid_query` */
export function parseValues(texts: readonly string[], source: OperandSource): readonly unknown[] {
  if (texts.length > source.maxValues) throw source.problem(`takes at most ${source.maxValues} values`)
  return texts.map((text) => source.value(text))
}

/** Values between commas; a comma inside a value is written `\,` and a backslash `\\`. */
export function splitList(text: string): readonly string[] {
  // With a comma in front, every value starts with one, an empty first one too.
  const items = `,${text}`.match(/,(?:\\[\s\S]|[^,\\]|\\$)*/g) ?? []
  return items.map((item) => item.slice(1).replaceAll(/\\([\s\S])/g, '$1'))
}
