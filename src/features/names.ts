import type { FieldSpec } from '../config/core-spec.js'
import { Problem } from '../problem.js'
import { quote } from '../resource/query.js'

/**
 * Reads names between commas.
 * @returns them in the order of those that are known
 * @throws Problem `invalid_query` for a name that is not known, and for one that is given twice
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

/** The type of one of some names. */
export function oneOf(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(' | ')
}

/** The type of one or several of some names. */
export function someOf(names: readonly string[]): string {
  return `${oneOf(names)} | readonly (${oneOf(names)})[]`
}

/** The type of a value of a field. */
export function typeOfValue({ type, options }: FieldSpec): string {
  return type.typescriptOf?.(options) ?? type.typescript
}
