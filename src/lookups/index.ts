import type { FieldType, Typed } from '../fields/field-type.js'
import { containsItems } from './contains-items.js'
import { contains } from './contains.js'
import { endswith } from './endswith.js'
import { exact } from './exact.js'
import { has } from './has.js'
import { gt } from './gt.js'
import { gte } from './gte.js'
import { icontains } from './icontains.js'
import { iexact } from './iexact.js'
import { isIn } from './in.js'
import { isnull } from './isnull.js'
import { istartswith } from './istartswith.js'
import type { Lookup } from './lookup.js'
import { lt } from './lt.js'
import { lte } from './lte.js'
import { ne } from './ne.js'
import { notIn } from './not-in.js'
import { overlaps } from './overlaps.js'
import { range } from './range.js'
import { startswith } from './startswith.js'

/** Every lookup. A new one is a file and a line here. */
export const LOOKUPS: readonly Lookup[] = [
  exact,
  ne,
  isIn,
  notIn,
  gt,
  gte,
  lt,
  lte,
  range,
  contains,
  icontains,
  startswith,
  istartswith,
  endswith,
  iexact,
  has,
  containsItems,
  overlaps,
  isnull,
]

/** Finds lookups by name: texts and lists have lookups of the same name. */
export function lookupsNamed(name: string): readonly Lookup[] {
  return LOOKUPS.filter((lookup) => lookup.name === name)
}

/** Finds the lookup of a type by name. */
export function lookupOfType(type: FieldType, name: string): Lookup | undefined {
  return lookupsNamed(name).find((lookup) => lookup.isOffered(type))
}

/** The lookups that fields of a type offer. */
export function lookupsOfType(type: FieldType): readonly Lookup[] {
  return LOOKUPS.filter((lookup) => lookup.isOffered(type))
}

/** The query parameter of a lookup: `language` compares for equality, every other lookup is spelled out. */
export function parameterOf(field: string, lookup: Lookup): string {
  return lookup === exact ? field : `${field}__${lookup.name}`
}

/** Splits the name of a filter, such as `title__in`. A field may have such a name itself. */
export function splitParameter(
  name: string,
  isField: (name: string) => boolean,
): readonly [field: string, lookup: string] {
  const at = name.lastIndexOf('__')
  return at <= 0 || isField(name) ? [name, exact.name] : [name.slice(0, at), name.slice(at + 2)]
}

/** A comparison of a field with a value. */
interface Comparison {
  readonly field: Typed & { readonly name: string }
  readonly lookup: Lookup
  readonly value: unknown
}

/** The same text for equal comparisons, and for no other comparison of the model. */
export function comparisonText({ field: { name, type, options }, lookup, value }: Comparison): string {
  return JSON.stringify([name, lookup.name, lookup.operand.write(value, (item) => type.write(item, options))])
}
