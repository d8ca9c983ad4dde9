import type { GrantSpec, ResourceSpec, Rule, RuleCondition } from '../config/spec.js'
import { exact } from '../lookups/exact.js'
import type { Membership } from '../resource/access.js'
import { spellCondition, spellRule } from './spell.js'

/** The grants of some resources as text; equal texts allow the same. */
export function spellRights(
  all: readonly ResourceSpec[],
  grants: (spec: ResourceSpec) => readonly GrantSpec[],
): string {
  return JSON.stringify(all.map((spec) => [spec.name, grants(spec).map(spellGrant)]))
}

function spellGrant({ to, may, rows, becomes, fields, set }: GrantSpec): readonly unknown[] {
  const presets = set.map(({ field, value }) => spellCondition({ relations: [], field, lookup: exact, value }))
  return [to, may, spellRows(rows), spellRows(becomes), fields, presets]
}

/** A rule with the conditions of the sets that it names. */
function spellRows(rule: Rule | undefined): string | null {
  if (rule === undefined) return null
  const sets = rule.flat().flatMap(({ value }: RuleCondition) => ('set' in value ? [value.set] : []))
  const spelled = sets.map(({ model, field, rows }) => `${model.table}.${field.column}: ${rows ? spellRule(rows) : ''}`)
  return [spellRule(rule), ...spelled].join('; ')
}

/** The memberships on which the rules of some grants depend, each set once. */
export function membershipsIn(grants: readonly GrantSpec[]): readonly Membership[] {
  const values = grants
    .flatMap(({ rows = [], becomes = [] }) => [...rows, ...becomes].flat())
    .flatMap(({ value }) => ('user' in value || 'set' in value ? [value] : []))
  return [...new Map(values.map((each) => ['set' in each ? each.set.name : '', each])).values()]
}
