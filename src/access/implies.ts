import type { FieldSpec, Rule, RuleCondition, RuleValue } from '../config/spec.js'
import { collationOf } from '../fields/compared-column.js'
import type { Json } from '../foundation/json.js'
import type { RangeEnd } from '../lookups/in-memory.js'
import { compareStored, compareValue, excludesNull, kindOf } from './decide/compare.js'
import { writtenLiteral } from './format.js'

/** A right side that depends on the caller. */
export type Variable = Exclude<RuleValue, { literal: unknown }>

/** Whether a variable means the same in two configurations. */
export type SameVariable = (value: Variable) => boolean

type Conjunction = readonly RuleCondition[]

/**
 * Whether every record of one conjunction is also one of the other, as far as that can be proved: each condition of the other must follow from
 * one of the first. The language has no negation, so nothing else is needed for most rules. If it cannot be proved, the result is false.
 */
export function implies(one: Conjunction, other: Conjunction, same: SameVariable): boolean {
  return other.every((wanted) => one.some((given) => conditionImplies(given, wanted, same)))
}

/** The conjunctions of a rule; one without conditions if it holds for every record. */
export function conjunctionsOf(rule: Rule | undefined): readonly Conjunction[] {
  return rule ?? [[]]
}

/** Whether every record of one rule is also one of the other. */
export function ruleImplies(one: Rule | undefined, other: Rule | undefined, same: SameVariable): boolean {
  return conjunctionsOf(one).every((each) => conjunctionsOf(other).some((wanted) => implies(each, wanted, same)))
}

function conditionImplies(given: RuleCondition, wanted: RuleCondition, same: SameVariable): boolean {
  if (placeOf(given) !== placeOf(wanted)) return false
  if (!('literal' in given.value)) {
    if (!same(given.value)) return false
    if (isNotNull(wanted)) return excludesNull(given.lookup)
    return given.lookup === wanted.lookup && isSameValue(given.value, wanted.value)
  }
  if (!('literal' in wanted.value)) return false
  const texts = textsOf(given)
  if (isNotNull(wanted) && excludesNull(given.lookup, texts)) return true
  if (given.lookup === wanted.lookup && texts.join('\0') === textsOf(wanted).join('\0')) return true
  return given.lookup.listsValues
    ? texts.every((text) => compareValue(wanted.field, wanted.lookup, text, textsOf(wanted)) === true)
    : isWithin(given, wanted)
}

/** Identifies the columns that a condition compares. */
function placeOf({ relations, field }: RuleCondition): string {
  const steps = relations.map((each) => [...placeOfField(each.field), each.target.table, each.target.column])
  return JSON.stringify([...steps, placeOfField(field)])
}

/** Identifies a column and the way in which its values compare. */
export function placeOfField(field: FieldSpec): readonly string[] {
  return [field.column, field.type.name, collationOf(field) ?? 'C']
}

function isNotNull({ lookup, value }: RuleCondition): boolean {
  return lookup.ofNull === true && 'literal' in value && value.literal === false
}

function isSameValue(one: RuleValue, other: RuleValue): boolean {
  if ('literal' in one || 'literal' in other) return false
  return nameOf(one) === nameOf(other)
}

/** The name of a variable. */
export function nameOf(value: Variable): string {
  if ('subject' in value) return 'sub'
  if ('claim' in value) return value.claim
  return 'user' in value ? 'user' : value.set.name
}

function textsOf({ value, field, lookup }: RuleCondition): readonly string[] {
  const written = 'literal' in value ? writtenLiteral(value.literal, field, lookup) : null
  return Array.isArray(written) ? (written as readonly Json[]).map(String) : [String(written)]
}

/** Whether one range of values lies within another. */
function isWithin(given: RuleCondition, wanted: RuleCondition): boolean {
  const inner = given.lookup.range?.(textsOf(given))
  const outer = wanted.lookup.range?.(textsOf(wanted))
  if (inner === undefined || outer === undefined) return false
  // Where only the database knows the order, equal ends are the only ones that compare.
  const isOrdered = kindOf(given.field) !== undefined
  const order = (one: string, other: string) =>
    isOrdered || one === other ? compareStored(given.field, one, other) : Number.NaN
  const fits = (end: RangeEnd | undefined, limit: RangeEnd | undefined, direction: 1 | -1): boolean => {
    if (limit === undefined) return true
    if (end === undefined) return false
    const difference = order(end.text, limit.text) * direction
    return difference > 0 || (difference === 0 && (limit.inclusive || !end.inclusive))
  }
  return fits(inner.low, outer.low, 1) && fits(inner.high, outer.high, -1)
}
