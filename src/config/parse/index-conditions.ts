import type { Typed } from '../../fields/field-type.js'
import type { Json } from '../../json.js'
import { exact } from '../../lookups/exact.js'
import { lookupOfType, lookupsOfType } from '../../lookups/index.js'
import { isnull } from '../../lookups/isnull.js'
import type { Lookup } from '../../lookups/lookup.js'
import type { CodeSource } from '../../lookups/operands.js'

/** The name of a filter in two parts. */
interface FilterName {
  readonly field: string
  /** The name of the lookup. */
  readonly lookup: string
}

/** Splits `title__in`, as filters are called. A field may have such a name itself. */
export const splitFilter = (name: string, isField: (name: string) => boolean): FilterName => {
  const at = name.lastIndexOf('__')
  return at <= 0 || isField(name)
    ? { field: name, lookup: exact.name }
    : { field: name.slice(0, at), lookup: name.slice(at + 2) }
}

/** A value that does not fit its comparison. */
export class UnfitValue extends Error {}

/** A condition on a field: `deleted_at: null` means that the field is null. */
export interface Comparison {
  readonly lookup: Lookup
  readonly value: unknown
}

/**
 * Reads a condition.
 * @param brokenRule the message of the first rule of the field that a value breaks
 * @returns undefined if the type of the field has no such lookup
 * @throws UnfitValue for a wrong value
 */
export const readComparison = (
  { type, options }: Typed,
  given: { readonly lookup: string; readonly value: Json },
  brokenRule: (value: Json) => string | undefined = () => undefined,
): Comparison | undefined => {
  if (given.value === null && given.lookup === exact.name) return { lookup: isnull, value: true }
  const lookup = lookupOfType(type, given.lookup)
  if (lookup === undefined) return undefined
  const needs = (wanted: string) => new UnfitValue(`needs ${wanted}`)
  const sourceOf = (typed: Typed): CodeSource => {
    const items = typed.type.items?.(typed.options)
    return {
      value(json) {
        if (json === null) return undefined
        const broken = typed.type === type ? brokenRule(json as Json) : undefined
        if (broken !== undefined) throw new UnfitValue(broken)
        return typed.type.fromJson(json as Json, JSON.stringify(json), typed.options)
      },
      ofType: `of the type \`${typed.type.name}\``,
      needs,
      items: items && sourceOf(items),
    }
  }
  return { lookup, value: lookup.operand.check(given.value, sourceOf({ type, options })) }
}

/** The names of the lookups of a type, for messages. */
export const lookupNames = ({ type }: Pick<Typed, 'type'>): readonly string[] =>
  lookupsOfType(type).map(({ name }) => name)
