import type { ModelSpec } from '../config/spec.js'
import { suggest } from '../config/words.js'
import { codeSource } from '../lookups/code-source.js'
import { exact } from '../lookups/exact.js'
import { comparisonText, lookupsOfType } from '../lookups/index.js'
import type { Condition, Scopes } from './plan.js'

/** One condition of a scope: a field, a lookup (`exact` by default), and a value. */
export interface ScopeCondition {
  readonly field: string
  readonly lookup?: string
  readonly value: unknown
}

/**
 * Narrows a model further for one request: rows must meet all conditions given so far. A repeated condition counts once.
 * @throws Error for an unknown field, a lookup that its type does not have, and a value of the wrong type
 */
export function narrowScope(scopes: Scopes | undefined, model: ModelSpec, given: readonly ScopeCondition[]): Scopes {
  const before = scopes?.get(model.table) ?? []
  const conditions = given.map((each) => readCondition(model, each))
  const added = conditions.filter((each) => !before.some((known) => isSame(known, each)))
  return new Map(scopes).set(model.table, [...before, ...added])
}

function readCondition(model: ModelSpec, given: ScopeCondition): Condition {
  const { field: name, lookup: wanted = exact.name } = given
  const field = model.fields.find((each) => each.name === name) ?? unknownField(model, name)
  const offered = lookupsOfType(field.type)
  const lookup = offered.find((each) => each.name === wanted)
  if (lookup) return { field, lookup, value: readValue(model, { field, lookup, value: given.value }) }
  const known = suggest(
    String(wanted),
    offered.map((each) => each.name),
    'lookup',
  ).join('; ')
  throw new Error(`the scope of \`${model.name}\` cannot compare \`${name}\` by \`${wanted}\`; ${known}`)
}

function readValue({ name: model }: ModelSpec, { field, lookup, value }: Condition): unknown {
  const needs = (wanted: string) =>
    new Error(`the scope of \`${model}\` needs ${wanted} to compare \`${field.name}\` by \`${lookup.name}\``)
  return lookup.operand.check(value, codeSource(field, needs))
}

function isSame(one: Condition, other: Condition): boolean {
  return one.field === other.field && comparisonText(one) === comparisonText(other)
}

/** Serialises scopes: equal texts mean equal scopes. */
export function formatScopes(scopes: Scopes): string {
  const tables = [...scopes].map(([table, conditions]) => [table, conditions.map(comparisonText).sort()] as const)
  return JSON.stringify(tables.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function unknownField({ name, fields }: ModelSpec, field: string): never {
  const known = suggest(
    field,
    fields.map((each) => each.name),
    'field',
  ).join('; ')
  throw new Error(`the model \`${name}\` has no field \`${field}\` for a scope; ${known}`)
}
