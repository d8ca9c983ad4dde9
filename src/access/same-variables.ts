import type { AppSpec, GrantSpec, Rule, RuleValue, SetSpec, UserSpec } from '../config/spec.js'
import { findValue } from '../config/yaml/located.js'
import { nameOf, placeOfField, ruleImplies, type SameVariable, type Variable } from './implies.js'
import type { Configured } from './widened.js'

/** Which variables mean the same in both files, or less in the new one. */
export function sameVariables(before: Configured, after: Configured): SameVariable {
  const isSameClaim = (name: string) => {
    const [old, now] = [before, after].map(({ root }) => JSON.stringify(findValue(root, ['auth', 'claims', name])))
    return old === now
  }
  const variables = variablesOf(before.spec)
  const same: SameVariable = (value) => {
    if ('subject' in value) return true
    if ('claim' in value) return isSameClaim(value.claim)
    const old = variables.get(nameOf(value))
    if (old === undefined) return false
    if ('user' in value) return 'user' in old && placeOfUser(value.user) === placeOfUser(old.user)
    return 'set' in old && isSetNarrower(value.set, old.set, same)
  }
  return same
}

/** The variables of a grant that other grants had and that may have other values now, in words. */
export function changedVariables(
  grant: GrantSpec,
  others: readonly GrantSpec[],
  same: SameVariable,
): readonly string[] {
  const known = new Set(others.flatMap(variablesIn).map(nameOf))
  const changed = variablesIn(grant).filter((value) => known.has(nameOf(value)) && !same(value))
  return [...new Set(changed.map(nameOf))].map((name) => `$${name} may have other values than before`)
}

/** The variables that the grants of a configuration use, by name. */
function variablesOf({ resources }: AppSpec): ReadonlyMap<string, Variable> {
  const variables = resources.flatMap(({ access = [] }) => access.flatMap(variablesIn))
  return new Map(
    variables
      .flatMap((value) => ('set' in value ? [value, ...variablesInRule(value.set.rows)] : [value]))
      .map((value) => [nameOf(value), value]),
  )
}

function variablesIn({ rows, becomes, set }: GrantSpec): readonly Variable[] {
  return [...variablesInRule(rows), ...variablesInRule(becomes), ...set.map(({ value }) => value).filter(isVariable)]
}

function variablesInRule(rule: Rule = []): readonly Variable[] {
  return rule
    .flat()
    .map(({ value }) => value)
    .filter(isVariable)
}

function isVariable(value: RuleValue): value is Variable {
  return !('literal' in value)
}

/** Identifies the columns by which the record of a caller is found, and its key. */
function placeOfUser({ model, key, match }: UserSpec): string {
  return JSON.stringify([model.table, placeOfField(key), placeOfField(match)])
}

/** The set of a condition must not have gained rows. */
function isSetNarrower(one: SetSpec, other: SetSpec, same: SameVariable): boolean {
  return (
    one.model.table === other.model.table &&
    placeOfField(one.field).join() === placeOfField(other.field).join() &&
    ruleImplies(one.rows, other.rows, same)
  )
}
