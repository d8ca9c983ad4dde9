import type { FieldSpec } from '../config/spec.js'
import { typeOfValue } from '../features/names.js'

/** A member of a generated type. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly optional?: boolean
  /** The description that editors show. */
  readonly about?: string
}

const JSON_TEXT = 'JsonText'

/** A field's value in a record, null included. */
export function formatValue(field: FieldSpec): string {
  const spelled = typeOfValue(field)
  return field.nullable ? `${spelled} | null` : spelled
}

/** A value that code may set for a field; for JSON, plain values too. */
export function formatGiven(field: FieldSpec): string {
  return field.type.typescript === JSON_TEXT ? `Json | ${JSON_TEXT}` : formatValue(field)
}

/** The rules of a field, for people. */
export function formatRules({ type, options, message }: FieldSpec): string {
  return message ?? [...new Set(type.rules(options).map((rule) => rule.message))].join(', ')
}

/** The type of any of these names. An empty list gives `never`. */
export function formatNames(names: readonly string[]): string {
  return names.length === 0 ? 'never' : names.map((name) => JSON.stringify(name)).join(' | ')
}

/** An object type with these members, indented from the second line on. */
export function formatObject(members: readonly Member[], indent = 0): string {
  if (members.length === 0) return 'Record<string, never>'
  const margin = ' '.repeat(indent)
  const lines = members.flatMap(({ name, type, optional, about }) => [
    ...(about === undefined ? [] : [`${margin}  ${formatComment(about)}`]),
    `${margin}  readonly ${formatKey(name)}${optional ? '?' : ''}: ${type}`,
  ])
  return `{\n${lines.join('\n')}\n${margin}}`
}

/** A comment that ends in the right place, whatever the text. */
export function formatComment(text: string): string {
  return `/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */`
}

function formatKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}
