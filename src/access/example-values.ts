import type { FieldSpec } from '../config/spec.js'
import type { Typed } from '../fields/field-type.js'
import { patternExamples } from '../fields/patterns/pattern-examples.js'
import { ruleBrokenBy, valueSchema } from '../fields/value-schema.js'
import type { Json } from '../foundation/json.js'
import { remember } from '../foundation/remember.js'
import { createCompiler } from '../resource/validator.js'
import { kindOf, printJson, type StoredText } from './decide/compare.js'

/** A JSON value, and its exact text. */
interface Written {
  readonly json: Json
  readonly source: string
}

/** The stored texts that are valid by the rules of a field. */
export interface ValidTexts {
  /** A few examples, whatever values the access rules compare. */
  readonly plain: readonly string[]
  /** Whether a request can set a value. Values that only the database compares count as valid. */
  accepts(text: string): boolean
}

/** Fields with the same rules share a validator. */
const compile = createCompiler()

export const validTexts = remember((field: FieldSpec): ValidTexts => {
  const isValid = validatorOf(field)
  const { type, options } = field
  const plain = examplesOf(field)
    .filter(isValid)
    .map(({ json, source }) => type.write(type.fromJson(json, source, options), options))
  return {
    plain: plain.slice(0, type.plainTexts ? 2 : 3),
    accepts: (text) => kindOf(field) === undefined || isValid(writtenAs(field, text)),
  }
})

function validatorOf(typed: Typed): (value: Written | undefined) => value is Written {
  const failuresOf = compile(valueSchema(typed))
  return (value): value is Written =>
    value !== undefined &&
    failuresOf(value.json).size === 0 &&
    ruleBrokenBy(typed, value.json, value.source) === undefined
}

/** Values that are valid by most rules, and examples of the type, which may be invalid by the rules of a field. */
function examplesOf(typed: Typed): readonly Written[] {
  const { type } = typed
  if (type.readOnly) return []
  const options: { readonly min?: number; readonly minimum?: unknown; readonly maximum?: unknown; pattern?: string } =
    typed.options
  const bounds = [options.minimum, options.maximum].filter((bound) => bound !== undefined).map(String)
  const patterns = options.pattern === undefined ? [] : patternExamples(options.pattern)
  const texts = (type.plainTexts ?? []).map((text) =>
    type.comparesAs === 'text' ? text.repeat(Math.max(1, options.min ?? 1)) : text,
  )
  const known = type.examplesOf?.(typed.options) ?? type.examples
  return [
    ...[...texts, ...patterns, ...bounds].flatMap((text) => writtenAs(typed, text) ?? []),
    ...listsOf(typed, options.min),
    ...known.map(({ json, source }) => ({ json, source: source ?? JSON.stringify(json) })),
  ]
}

/** Lists of valid items. */
function listsOf({ type, options }: Typed, min = 1): readonly Written[] {
  const item = type.items?.(options)
  if (item === undefined) return []
  return examplesOf(item)
    .filter(validatorOf(item))
    .slice(0, 2)
    .map(({ json, source }) => {
      const count = Math.max(1, min)
      return { json: Array.from({ length: count }, () => json), source: `[${Array(count).fill(source).join(', ')}]` }
    })
}

/** The JSON value of a text; undefined if the text is not JSON of the type. */
function writtenAs(typed: Typed, text: string): Written | undefined {
  const source = valueSchema(typed)['type'] === 'string' ? JSON.stringify(text) : text
  try {
    return { json: JSON.parse(source) as Json, source }
  } catch {
    return undefined
  }
}

/** The JSON of a stored text, for a body, with all digits; a JSON string if the text is not a value of the type. */
export function sourceOfText(field: FieldSpec, text: string): string {
  return writtenAs(field, text)?.source ?? JSON.stringify(text)
}

/** The text of a value in a body; its JSON if it is not valid. */
export function textOfSent(field: FieldSpec, json: Json): StoredText {
  if (json === null || validatorOf(field)({ json, source: JSON.stringify(json) })) return printJson(field, json)
  return typeof json === 'string' ? json : JSON.stringify(json)
}
