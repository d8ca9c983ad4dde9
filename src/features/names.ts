import type { FieldSpec } from '../config/model-spec.js'
import { Problem } from '../foundation/problem.js'
import { quote } from '../resource/query.js'

/**
 * Reads names separated by commas.
 * @returns the names in the order of the known ones
 * @throws Problem `invalid_query` for an unknown or repeated name
 */
export function readNames(parameter: string, text: string, known: readonly string[]): readonly string[] {
  const names = text.split(',', known.length + 1)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const message = `the parameter \`${parameter}\` names ${quote(unknown)}; known are ${known.join(', ')}`
    throw new Problem('invalid_query', message)
  }
  const given = new Set(names)
  if (given.size < names.length)
    throw new Problem('invalid_query', `the parameter \`${parameter}\` names a field twice`)
  return known.filter((name) => given.has(name))
}

/** The TypeScript type of one of several names. */
export function oneOf(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(' | ')
}

/** The TypeScript type of one or more of several names. */
export function someOf(names: readonly string[]): string {
  return `${oneOf(names)} | readonly (${oneOf(names)})[]`
}

/** The TypeScript type of a field's values. */
export function typeOfValue({ type, options }: FieldSpec): string {
  return type.typescriptOf?.(options) ?? type.typescript
}
