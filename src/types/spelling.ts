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
export function spellValue(field: FieldSpec): string {
  const spelled = typeOfValue(field)
  return field.nullable ? `${spelled} | null` : spelled
}

/** A value that code may set for a field; for JSON, plain values too. */
export function spellGiven(field: FieldSpec): string {
  return field.type.typescript === JSON_TEXT ? `Json | ${JSON_TEXT}` : spellValue(field)
}

/** The rules of a field, for people. */
export function spellRules({ type, options, message }: FieldSpec): string {
  return message ?? [...new Set(type.rules(options).map((rule) => rule.message))].join(', ')
}

/** The type of any of these names. */
export function spellNames(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(' | ')
}

/** An object type with these members, indented from the second line on. */
export function spellObject(members: readonly Member[], indent = 0): string {
  if (members.length === 0) return 'Record<string, never>'
  const margin = ' '.repeat(indent)
  const lines = members.flatMap(({ name, type, optional, about }) => [
    ...(about === undefined ? [] : [`${margin}  ${spellComment(about)}`]),
    `${margin}  readonly ${spellKey(name)}${optional ? '?' : ''}: ${type}`,
  ])
  return `{\n${lines.join('\n')}\n${margin}}`
}

/** A comment that ends in the right place, whatever the text. */
export function spellComment(text: string): string {
  return `/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */`
}

function spellKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}
