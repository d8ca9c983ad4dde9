import type { FieldSpec, Rule, RuleCondition, RuleValue } from '../config/spec.js'
import type { Json } from '../foundation/json.js'
import { parameterOf } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { exact } from '../lookups/exact.js'

/** The name of a condition, as written in the file. */
export function formatName({ relations, field, lookup }: Omit<RuleCondition, 'value'>): string {
  return [...relations.map((each) => each.field.name), parameterOf(field.name, lookup)].join('.')
}

/** The value of a condition, as written in the file. */
export function formatValue(value: RuleValue, field: FieldSpec, lookup: Lookup = exact): string {
  if ('literal' in value) return formatJson(writtenLiteral(value.literal, field, lookup))
  if ('subject' in value) return '$sub'
  if ('claim' in value) return `$${value.claim}`
  return 'user' in value ? '$user' : `$${value.set.name}`
}

/** The JSON form of a literal. */
export function writtenLiteral(literal: unknown, { type, options }: FieldSpec, lookup: Lookup): Json {
  return literal == null ? null : lookup.operand.write(literal, (item) => type.write(item, options))
}

function formatJson(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(formatJson).join(', ')}]`
  return String(value)
}

export function formatCondition(condition: RuleCondition): string {
  return `${formatName(condition)}: ${formatValue(condition.value, condition.field, condition.lookup)}`
}

/** A rule in one line. */
export function formatRule(rule: Rule): string {
  return rule.map((all) => all.map(formatCondition).join(', ')).join(' or ')
}

/** The fields of a grant as text: `all`, `all but cost`, or their names. */
export function formatFields(granted: readonly string[], all: readonly string[]): string {
  const missing = all.filter((name) => !granted.includes(name))
  if (missing.length === 0) return 'all'
  const shown = granted.filter((name) => all.includes(name))
  return missing.length < shown.length ? `all but ${missing.join(', ')}` : shown.join(', ') || 'none'
}
