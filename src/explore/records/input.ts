import type { FieldSpec } from '../../config/spec.js'
import { valueSchema } from '../../fields/value-schema.js'
import type { Rule } from '../../fields/field-type.js'
import type { JsonSchema } from '../../foundation/json.js'

/** How typed text is converted to the JSON of a field. */
type Kind = 'text' | 'number' | 'boolean' | 'json'

interface Input {
  readonly kind: Kind
  /** The values of a field with few values. */
  readonly choices: readonly string[] | undefined
  /** Whether an empty text may be a value. */
  readonly canBeEmpty: boolean
  /** Whether values may be long or contain line breaks. */
  readonly long: boolean
  /** An example, for types whose format is not obvious. */
  readonly example: string
  /** The rules, in the words of their messages. */
  readonly hint: string
}

const KINDS: Readonly<Record<string, Kind>> = {
  string: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
}

/** Fields with a longer maximum get a multi-line input. */
const MAX_LINE_LENGTH = 200

/** Derives the input of a field from its rules alone, so that new types need nothing here. */
export function inputOf(field: FieldSpec): Input {
  const { type, options } = field
  const rules = type.rules(options)
  const schema = valueSchema(field)
  const kind = KINDS[String(schema['type'])] ?? 'json'
  const longest = type.longest(options)
  const isFreeText = kind === 'text' && type.input === undefined && !field.target
  const canBeEmpty = isFreeText && type.parse('', options) !== undefined
  const choices = Array.isArray(schema['enum']) ? schema['enum'].map(String) : undefined
  return {
    kind,
    choices: kind === 'boolean' ? ['true', 'false'] : choices,
    canBeEmpty,
    long: kind === 'json' || (kind === 'text' && (longest === undefined || longest > MAX_LINE_LENGTH)),
    example: kind === 'json' || isPlain(schema) ? '' : (type.examples[0]?.text ?? ''),
    hint: field.message ?? hintOf(kind, schema, rules),
  }
}

/** Omits hints that are obvious from the input type. */
function hintOf(kind: Kind, schema: JsonSchema, rules: readonly Rule[]): string {
  if (kind === 'boolean' || schema['enum']) return ''
  if (kind === 'json')
    return ['a JSON value', ...rules.filter(isDeclaredLength).map(({ message }) => message)].join('; ')
  const said = isPlain(schema) ? rules.filter(({ schema }) => !('type' in schema || 'format' in schema)) : rules
  return [...new Set(said.map(({ message }) => message))].join('; ')
}

/** Whether a rule is the length that the configuration declares. */
function isDeclaredLength({ name, check }: Rule): boolean {
  return name === 'length' && check !== undefined
}

/** Whether any text is valid, rather than a date, a number or the like. */
function isPlain({ type, format, enum: choices }: JsonSchema): boolean {
  return type === 'string' && !choices && (format === undefined || format === 'storable-text')
}
