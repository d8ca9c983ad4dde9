import type { Typed } from '../../fields/field-type.js'
import type { Json } from '../../foundation/json.js'
import { codeSource } from '../../lookups/code-source.js'
import { exact } from '../../lookups/exact.js'
import { lookupOfType } from '../../lookups/index.js'
import { isnull } from '../../lookups/isnull.js'
import type { Lookup } from '../../lookups/lookup.js'

/** Thrown for a value that does not fit its comparison. */
export class UnfitValue extends Error {}

/** A condition on a field: `deleted_at: null` means that the field is null. */
export interface Comparison {
  readonly lookup: Lookup
  readonly value: unknown
}

/**
 * Reads a condition.
 * @param brokenRule returns the message of the first rule of the field that a value breaks
 * @returns undefined if the type of the field has no such lookup
 * @throws UnfitValue for a wrong value
 */
export function readComparison(
  { type, options }: Typed,
  given: { readonly lookup: string; readonly value: Json },
  brokenRule: (value: Json) => string | undefined = () => undefined,
): Comparison | undefined {
  if (given.value === null && given.lookup === exact.name) return { lookup: isnull, value: true }
  const lookup = lookupOfType(type, given.lookup)
  if (lookup === undefined) return undefined
  const read = (each: Typed, json: unknown): unknown => {
    if (json === null) return undefined
    const broken = each.type === type ? brokenRule(json as Json) : undefined
    if (broken !== undefined) throw new UnfitValue(broken)
    return each.type.fromJson(json as Json, JSON.stringify(json), each.options)
  }
  const source = codeSource({ type, options }, (wanted) => new UnfitValue(`needs ${wanted}`), read)
  return { lookup, value: lookup.operand.check(given.value, source) }
}
