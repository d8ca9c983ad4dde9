import { formsOf } from '../../../fields/columns.js'
import type { ExistingColumn, Limits } from '../../../fields/existing-column.js'
import type { Json } from '../../../foundation/json.js'
import { joinLimits, limitsOfType, readDefault } from '../catalog/constraint-parser.js'

/** The settings of a field in resources.yaml, in order. */
export type Words = readonly (readonly [key: string, value: Json])[]

/** The settings for the type of a column, and the limits that they express. */
export interface TypeWords {
  readonly words: Words
  readonly expresses: readonly (keyof Limits)[]
}

/**
 * Returns the settings for the type of a column with checks; undefined if no field type can describe it. Among several types, one with choices
 * is the most exact.
 */
export function wordsForType(column: ExistingColumn, checks: readonly Limits[] = []): TypeWords | undefined {
  const limits = joinLimits([limitsOfType(column), ...checks])
  const found = formsOf(column).flatMap(({ type, form: { options, expresses } }) => {
    const said = options(limits)
    return said ? [{ words: [['type', type.name], ...Object.entries(said)] as Words, expresses }] : []
  })
  return found.find(({ expresses }) => expresses.includes('choices')) ?? found[0]
}

/** Returns the settings for the default of a column; undefined if resources.yaml cannot express it. */
export function wordsForDefault(sql: string | null, column: ExistingColumn): Words | undefined {
  if (sql === null || sql.startsWith('NULL::')) return []
  const found = readDefault(sql, column)
  return found && [['default', 'call' in found ? { function: found.call } : found.literal]]
}
