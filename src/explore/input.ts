import type { FieldSpec } from '../config/spec.js'
import { valueSchema } from '../resource/field-schema.js'
import type { Rule } from '../fields/field-type.js'
import type { JsonSchema } from '../json.js'

/** How a text that a person typed becomes the JSON of a field. */
type Kind = 'text' | 'number' | 'boolean' | 'json'

interface Input {
  readonly kind: Kind
  /** The values there are, where they are few. */
  readonly choices: readonly string[] | undefined
  /** Whether values may be long or have line breaks. */
  readonly long: boolean
  /** A value of the type, for those whose form is not plain. */
  readonly example: string
  /** What the rules ask, in the words of their messages. */
  readonly hint: string
}

const KINDS: Readonly<Record<string, Kind>> = {
  string: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
}

/** A field whose values are longer than this is typed into several lines. */
const LONGEST_LINE = 200

/** How people give a value of a field: said by its rules alone, so that a new type needs nothing here. */
export function inputOf(field: FieldSpec): Input {
  const { type, options } = field
  const rules = type.rules(options)
  const schema = valueSchema(field)
  const kind = KINDS[String(schema['type'])] ?? 'json'
  const longest = type.longest(options)
  const choices = Array.isArray(schema['enum']) ? schema['enum'].map(String) : undefined
  return {
    kind,
    choices: kind === 'boolean' ? ['true', 'false'] : choices,
    long: kind === 'json' || (kind === 'text' && (longest === undefined || longest > LONGEST_LINE)),
    example: kind === 'json' || isPlain(schema) ? '' : (type.examples[0]?.text ?? ''),
    hint: field.message ?? hintOf(kind, schema, rules),
  }
}

/** That a text is a text needs no saying, nor that a choice is one. */
function hintOf(kind: Kind, schema: JsonSchema, rules: readonly Rule[]): string {
  if (kind === 'boolean' || schema['enum']) return ''
  if (kind === 'json') return 'a JSON value'
  const said = isPlain(schema) ? rules.filter(({ schema }) => !('type' in schema || 'format' in schema)) : rules
  return [...new Set(said.map(({ message }) => message))].join('; ')
}

/** Whether a text is any text: not one that has to be a date, a number or the like. */
function isPlain({ type, format, enum: choices }: JsonSchema): boolean {
  return type === 'string' && !choices && (format === undefined || format === 'storable-text')
}
