import type { GrantSpec, ResourceSpec, Rule, RuleCondition } from '../config/spec.js'
import { exact } from '../lookups/exact.js'
import type { Membership } from '../resource/access.js'
import { formatCondition, formatRule } from './format.js'

/** The grants of some resources as text; equal texts allow the same. */
export function formatRights(
  all: readonly ResourceSpec[],
  grants: (spec: ResourceSpec) => readonly GrantSpec[],
): string {
  return JSON.stringify(all.map((spec) => [spec.name, grants(spec).map(formatGrant)]))
}

/** Formats what grants allow, without the roles that have them. */
export function formatAllowed(
  all: readonly ResourceSpec[],
  grants: (spec: ResourceSpec) => readonly GrantSpec[],
): string {
  const allowedBy = (grant: GrantSpec): string => JSON.stringify(formatGrant(grant).slice(1))
  return JSON.stringify(all.map((spec) => [spec.name, [...new Set(grants(spec).map(allowedBy))]]))
}

function formatGrant({ to, may, rows, becomes, fields, set }: GrantSpec): readonly unknown[] {
  const presets = set.map(({ field, value }) => formatCondition({ relations: [], field, lookup: exact, value }))
  return [to, may, formatRows(rows), formatRows(becomes), fields, presets]
}

/** A rule with the conditions of the sets that it names. */
function formatRows(rule: Rule | undefined): string | null {
  if (rule === undefined) return null
  const sets = rule.flat().flatMap(({ value }: RuleCondition) => ('set' in value ? [value.set] : []))
  const spelled = sets.map(
    ({ model, field, rows }) => `${model.table}.${field.column}: ${rows ? formatRule(rows) : ''}`,
  )
  return [formatRule(rule), ...spelled].join('; ')
}

/** The memberships on which the rules of some grants depend, each set once. */
export function membershipsIn(grants: readonly GrantSpec[]): readonly Membership[] {
  const values = grants
    .flatMap(({ rows = [], becomes = [] }) => [...rows, ...becomes].flat())
    .flatMap(({ value }) => ('user' in value || 'set' in value ? [value] : []))
  return [...new Map(values.map((each) => ['set' in each ? each.set.name : '', each])).values()]
}
