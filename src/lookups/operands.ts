import type { Json, JsonSchema } from '../foundation/json.js'
import { isStorable } from '../fields/spelling/formats.js'

/** The maximum number of values in one list. */
export const MAX_VALUES = 100

/** The facts about a parameter that are needed to parse its operand. */
export interface OperandSource {
  /** The maximum number of values in a list. */
  readonly maxValues: number
  /** Parses one value of the field. @throws Problem `invalid_query` */
  value(text: string): unknown
  /** Makes the Problem `invalid_query` about the parameter: `takes true or false`. */
  problem(message: string): Error
  /** The same for the items of the field's values, if these are lists. */
  readonly items?: OperandSource | undefined
}

/** How values that code sets are checked. */
export interface CodeSource {
  /** Reads the value as the field's type does; undefined for any other value, and for null. */
  value(given: unknown): unknown
  /** `of the type \`integer\``. */
  readonly ofType: string
  /** Makes the error for a wrong value: `needs a list`. */
  needs(wanted: string): Error
  /** The same for the items of the field's values, if these are lists. */
  readonly items?: CodeSource | undefined
}

/** The right side of a comparison: how it is parsed, and how documents and forms describe it. */
export interface Operand<Value = unknown> {
  /** @throws Problem `invalid_query` */
  parse(text: string, source: OperandSource): Value
  /** Validates a value set by code, as in a scope. @throws Error for a value of the wrong type */
  check(given: unknown, source: CodeSource): Value
  /** The operand as JSON, with each value of the field in the form of `write`: equal operands have equal texts. */
  write(value: Value, write: (item: unknown) => Json): Json
  /** For operands of several values. */
  readonly list?: {
    limits(maxValues: number): { readonly minItems?: number; readonly maxItems: number }
    /** Parses texts that the client has already separated. @throws Problem `invalid_query` */
    parse(texts: readonly string[], source: OperandSource): Value
  }
  /** The schema of the operand, or of each value of a list, from the schema of a value of the field. */
  schema(value: JsonSchema): JsonSchema
  /** Its type in TypeScript, from the type of a value of the field. */
  typescript(value: string): string
  /** The texts that it can be, if there are few. */
  readonly choices?: readonly string[]
  readonly placeholder?: string
}

/** A value of the field. */
export const VALUE: Operand = {
  parse: (text, source) => source.value(text),
  check(given, source) {
    const value = source.value(given)
    if (value === undefined) throw source.needs(`a value ${source.ofType}`)
    return value
  },
  write: (value, write) => write(value),
  schema: (value) => value,
  typescript: (value) => value,
}

/** A text that need not be valid for the field: `ad` is not an email address, but addresses start with it. */
export const TEXT: Operand<string> = {
  parse(text, source) {
    if (!isStorable(text)) throw source.problem('must not contain U+0000 or an unpaired surrogate')
    return text
  },
  check(given, { needs }) {
    if (typeof given !== 'string' || !isStorable(given)) throw needs('a text without U+0000 and unpaired surrogates')
    return given
  },
  write: (text) => text,
  schema: () => ({ type: 'string' }),
  typescript: () => 'string',
}

/** True or false. */
export const FLAG: Operand<boolean> = {
  parse(text, source) {
    if (text !== 'true' && text !== 'false') throw source.problem('takes true or false')
    return text === 'true'
  },
  check(given, { needs }) {
    if (typeof given !== 'boolean') throw needs('true or false')
    return given
  },
  write: (flag) => flag,
  schema: () => ({ type: 'boolean' }),
  typescript: () => 'boolean',
  choices: ['true', 'false'],
}

/** Any number of values of the field, up to a limit. */
export const VALUES: Operand<readonly unknown[]> = {
  parse: (text, source) => parseValues(splitList(text), source),
  list: { limits: (maxItems) => ({ maxItems }), parse: (texts, source) => parseValues([...new Set(texts)], source) },
  check(given, source) {
    if (!Array.isArray(given)) throw source.needs('a list')
    return checkValues(given, source)
  },
  write: (values, write) => values.map(write),
  schema: (value) => value,
  typescript: (value) => `readonly (${value})[]`,
  placeholder: 'one, another',
}

/** Parses each text as a value of the field. @throws Problem `invalid_query` */
export function parseValues(texts: readonly string[], source: OperandSource): readonly unknown[] {
  if (texts.length > source.maxValues) throw source.problem(`takes at most ${source.maxValues} values`)
  return texts.map((text) => source.value(text))
}

/** Validates each value set by code. @throws Error */
export function checkValues(given: readonly unknown[], source: CodeSource): readonly unknown[] {
  return given.map((item) => {
    const value = source.value(item)
    if (value === undefined) throw source.needs(`only values ${source.ofType}`)
    return value
  })
}

/** Values separated by commas; a comma inside a value is written `\,` and a backslash `\\`. */
export function splitList(text: string): readonly string[] {
  // With a comma in front, every value starts with one, even an empty first one.
  const items = `,${text}`.match(/,(?:\\[\s\S]|[^,\\]|\\$)*/g) ?? []
  return items.map((item) => item.slice(1).replaceAll(/\\([\s\S])/g, '$1'))
}

/** The same operand for the items of a field whose values are lists. */
export function ofItems<Value>(operand: Operand<Value>): Operand<Value> {
  const { list } = operand
  return {
    ...operand,
    parse: (text, source) => operand.parse(text, itemsOf(source)),
    check: (given, source) => operand.check(given, itemsOf(source)),
    write: (value, write) => operand.write(value, (item) => write([item])),
    ...(list && { list: { ...list, parse: (texts, source) => list.parse(texts, itemsOf(source)) } }),
    schema: ({ items }) => operand.schema(items as JsonSchema),
    typescript: (value) => operand.typescript(`(${value})[number]`),
  }
}

function itemsOf<Source extends object>(source: Source & { readonly items?: Source | undefined }): Source {
  if (!source.items) throw new Error('a lookup of lists is offered for a field of another type')
  return source.items
}
