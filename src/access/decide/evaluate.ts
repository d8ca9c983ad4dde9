import type { FieldSpec, Rule, RuleCondition, RuleValue } from '../../config/spec.js'
import { isStorable } from '../../fields/spelling/formats.js'
import type { Json } from '../../foundation/json.js'
import { exact } from '../../lookups/exact.js'
import type { Lookup } from '../../lookups/lookup.js'
import { TEXT } from '../../lookups/operands.js'
import { compareValue, kindOf, type StoredText, type Verdict } from './compare.js'

/** A stored record, by the names of its fields; without fields whose values are not known. */
export type StoredRecord = Readonly<Record<string, StoredText>>

/** The caller, and the contents of the database. */
export interface Known {
  /** Undefined for a caller who has not signed in. */
  readonly subject: string | undefined
  readonly claims: Readonly<Record<string, Json>>
  /** All records of a table; undefined if they are not known. */
  readonly records: (table: string) => readonly StoredRecord[] | undefined
}

/** A condition of a rule for one record. */
export interface EvaluatedCondition {
  readonly condition: RuleCondition
  readonly holds: Verdict
  /** The value of the record; undefined if it is not known, or the relations lead to no record. */
  readonly stored: StoredText | undefined
  /** The values that it is compared with; undefined if the caller has none, or they are not known. */
  readonly wanted: readonly string[] | undefined
}

/** A rule for one record: one of the alternatives must hold. */
export interface EvaluatedRule {
  readonly holds: Verdict
  readonly alternatives: readonly (readonly EvaluatedCondition[])[]
}

/** Whether a rule holds for a record, and each of its conditions. */
export function evaluateRule(rule: Rule | undefined, record: StoredRecord | undefined, known: Known): EvaluatedRule {
  if (rule === undefined) return { holds: true, alternatives: [] }
  const alternatives = rule.map((all) => all.map((each) => evaluateCondition(each, record, known)))
  return { holds: some(alternatives.map((all) => every(all.map(({ holds }) => holds)))), alternatives }
}

export function every(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false
  return verdicts.includes(undefined) ? undefined : true
}

export function some(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(true)) return true
  return verdicts.includes(undefined) ? undefined : false
}

function evaluateCondition(
  condition: RuleCondition,
  record: StoredRecord | undefined,
  known: Known,
): EvaluatedCondition {
  const { field, lookup, value } = condition
  const wanted = wantedValues(value, condition, known)
  const end = record && lastRecord(condition, record, known)
  const stored = end === 'none' ? undefined : end?.[field.name]
  const evaluated = { condition, stored, wanted: wanted === 'none' ? undefined : wanted }
  if (wanted === 'none' || end === 'none') return { ...evaluated, holds: false }
  if (wanted === undefined || stored === undefined) return { ...evaluated, holds: undefined }
  return { ...evaluated, holds: compareValue(field, lookup, stored, wanted) }
}

/** The record to which the relations of a condition lead; `none` if it does not exist, undefined if that is not known. */
function lastRecord(
  { relations }: RuleCondition,
  start: StoredRecord,
  { records }: Known,
): StoredRecord | 'none' | undefined {
  let record = start
  for (const { field, target } of relations) {
    const reference = record[field.name]
    if (reference === null) return 'none'
    const related = records(target.table)
    if (reference === undefined || related === undefined) return undefined
    const found = related.find((each) => each[target.field] === reference)
    if (found === undefined) return 'none'
    record = found
  }
  return record
}

/** The right side of a condition; `none` if the caller has no such value, undefined if it is not known. */
function wantedValues(
  value: RuleValue,
  { field, lookup }: RuleCondition,
  known: Known,
): readonly string[] | 'none' | undefined {
  if ('literal' in value) return literalTexts(field, lookup, value.literal)
  if (known.subject === undefined) return 'none'
  if ('subject' in value) return claimedTexts(field, lookup, known.subject)
  if ('claim' in value) {
    return Object.hasOwn(known.claims, value.claim)
      ? claimedTexts(field, lookup, known.claims[value.claim] ?? null)
      : 'none'
  }
  if ('user' in value) {
    const key = callerKey(value, known)
    return key === null ? 'none' : key === undefined ? undefined : [key]
  }
  const { model, field: of, rows } = value.set
  const members = known
    .records(model.table)
    ?.map((record) => ({ holds: evaluateRule(rows, record, known).holds, text: record[of.name] }))
    .filter(({ holds }) => holds !== false)
  if (members?.some(({ holds, text }) => holds === undefined || text === undefined)) return undefined
  return members?.flatMap(({ text }) => text ?? [])
}

/** The key of the record that stands for the caller; null if it does not exist, undefined if that is not known. */
export function callerKey(
  { user: { model, key, match } }: Extract<RuleValue, { user: unknown }>,
  { subject, records }: Known,
): StoredText | undefined {
  const users = records(model.table)
  return users && (users.find((record) => record[match.name] === subject)?.[key.name] ?? null)
}

function literalTexts(field: FieldSpec, lookup: Lookup, literal: unknown): readonly string[] {
  const written = lookup.operand.write(literal, (item) => field.type.write(item, field.options))
  return Array.isArray(written) ? (written as readonly Json[]).map(String) : [String(written)]
}

/** The texts of a claim; `none` if the field cannot be compared with it. */
function claimedTexts(field: FieldSpec, lookup: Lookup, claim: Json): readonly string[] | 'none' {
  if (Array.isArray(claim) !== (lookup.operand.list !== undefined)) return 'none'
  const items = Array.isArray(claim) ? (claim as readonly Json[]) : [claim]
  const isFit = (item: Json) => (lookup.operand === TEXT ? isText(item) : fits(field, item))
  return items.every(isFit) ? items.map(String) : 'none'
}

function isText(item: Json): item is string {
  return typeof item === 'string' && isStorable(item)
}

/** Whether a claim can be the value of a field. */
function fits(field: FieldSpec, item: Json): boolean {
  return isOfKind(field, item) && field.type.parse(String(item), field.options) !== undefined
}

function isOfKind(field: FieldSpec, item: Json): boolean {
  const kind = kindOf(field)
  if (kind === 'boolean') return typeof item === 'boolean'
  if (kind === 'number') return isUnrounded(item)
  return isText(item) || (kind !== 'text' && isUnrounded(item))
}

/** JavaScript rounds larger integers. */
function isUnrounded(item: Json): boolean {
  return typeof item === 'number' && (!Number.isInteger(item) || Number.isSafeInteger(item))
}

/** Stands for a value that the caller does not have. It is not a text, because every text can be a value. */
export const NO_VALUE: unique symbol = Symbol('no value')

/** The text of a preset; null if the caller's record does not exist, `NO_VALUE` if the caller has no such value, undefined if it is not known. */
export function presetText(field: FieldSpec, value: RuleValue, known: Known): StoredText | typeof NO_VALUE | undefined {
  if ('user' in value) return known.subject === undefined ? NO_VALUE : callerKey(value, known)
  const texts = wantedValues(value, { relations: [], field, lookup: exact, value }, known)
  if (texts === 'none') return NO_VALUE
  return texts && (texts[0] ?? null)
}
