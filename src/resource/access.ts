import type {
  AuthSpec,
  FieldSpec,
  GrantSpec,
  ModelRelation,
  ModelSpec,
  Rule,
  RuleCondition,
  RuleValue,
  UserSpec,
} from '../config/spec.js'
import { isShown } from '../config/model-spec.js'
import type { Json } from '../foundation/json.js'
import type { Row } from './plan.js'
import { isStorable } from '../fields/spelling/formats.js'
import { codeSource, valueOf } from '../lookups/code-source.js'
import { remember } from '../foundation/remember.js'

/** Who sent a request, as rules see it. */
export interface Caller {
  /** Undefined for a caller who has not signed in. */
  readonly subject: string | undefined
  readonly claims: Readonly<Record<string, Json>>
}

/** Values of rules that depend on stored records: the key of the caller's record, or the values of a set. */
export type Membership = Extract<RuleValue, { user: unknown } | { set: unknown }>

/** The rights of one kind of caller to the records of a resource. */
export interface ResourceAccess {
  readonly list: Reading
  readonly retrieve: Reading
  readonly create: readonly GrantSpec[]
  readonly change: readonly GrantSpec[]
  readonly destroy: readonly GrantSpec[]
  /** The grants that allow an operation or an action. */
  readonly granting: (name: string) => readonly GrantSpec[]
  /** The records of each table that the caller may retrieve, through any resource; undefined for all of them. */
  readonly retrievable: (table: string) => Rule | undefined
  /** The records that the caller may name by a relation; undefined for all of them. */
  readonly nameable: (relation: ModelRelation) => Rule | undefined
}

/** The records that grants show, and the fields that they show of each. */
export interface Reading {
  /** A record has the fields of every part that covers it; a record that no part covers is hidden. */
  readonly parts: readonly ReadingPart[]
}

export interface ReadingPart {
  readonly fields: ReadonlySet<string>
  /** Undefined for all records. */
  readonly rows: Rule | undefined
}

/**
 * Joins grants that show the same stored fields. A computed field is shown only if all grants show it, so it makes no part of its own. Write-only fields
 * are hidden, even if a grant names them.
 */
export function readingOf({ fields: all }: ModelSpec, grants: readonly GrantSpec[]): Reading {
  const hidden = new Set(all.filter((field) => !isShown(field)).map(({ name }) => name))
  const stored = new Set(all.map(({ name }) => name))
  const parts = new Map<string, ReadingPart>()
  for (const { fields, rows } of grants) {
    const shown = fields.filter((name) => !hidden.has(name)).toSorted()
    const key = shown.filter((name) => stored.has(name)).join()
    const other = parts.get(key)
    const both = shown.filter((name) => other?.fields.has(name) ?? true)
    parts.set(key, { fields: new Set(both), rows: other ? eitherRule(other.rows, rows) : rows })
  }
  return { parts: [...parts.values()] }
}

/** The records for which at least one of two rules holds. */
export function eitherRule(one: Rule | undefined, other: Rule | undefined): Rule | undefined {
  return one && other && [...one, ...other]
}

/** The records for which both of two rules hold. */
function bothRules(one: Rule, other: Rule): Rule {
  return one.flatMap((all) => other.map((each) => [...all, ...each]))
}

/** The records that grants for reading show; undefined for all. */
export function visibleRule({ parts }: Reading): Rule | undefined {
  return unionOf(parts)
}

/** The records that show a field; undefined if all visible ones do. */
export function showingRule({ parts }: Reading, field: string): Rule | undefined {
  const some = parts.filter(({ fields }) => fields.has(field))
  return some.length === parts.length ? undefined : unionOf(some)
}

/** The visible records that show all of some fields; undefined for all. */
export function showingAll(reading: Reading, names: readonly string[]): Rule | undefined {
  const rules = names.map((name) => showingRule(reading, name)).filter((rule) => rule !== undefined)
  return rules.length === 0 ? visibleRule(reading) : rules.reduce(bothRules)
}

/** The visible records that show a field to the caller, one by one or in lists; undefined if all do. */
export function seenRule({ retrieve, list }: ResourceAccess, field: string): Rule | undefined {
  const listing = unionOf(list.parts.filter(({ fields }) => fields.has(field)))
  return eitherRule(showingRule(retrieve, field), listing)
}

function unionOf(parts: readonly ReadingPart[]): Rule | undefined {
  return parts.map(({ rows }) => rows).reduce(eitherRule, NONE)
}

/** A rule that holds for no record. */
const NONE: Rule = []

/** A value that a caller may have; undefined if it has none. */
export type CallerValue = (caller: Caller) => unknown

/**
 * The operand of a condition; for `$user` and sets, the subject. A condition about a claim that the caller lacks, or that has another type, has none: it
 * never holds.
 */
export const operandOf = remember(({ field, lookup, value }: RuleCondition): CallerValue => {
  if ('literal' in value) return () => value.literal
  if ('user' in value || 'set' in value) return ({ subject }) => subject
  const source = codeSource(field, () => UNFIT)
  const isList = lookup.operand.list !== undefined
  return remember((caller: Caller) => {
    const claimed = claimOf(value, caller)
    if (claimed === undefined || Array.isArray(claimed) !== isList) return undefined
    try {
      return lookup.operand.check(claimed, source)
    } catch {
      return undefined
    }
  })
})

const UNFIT = new Error('the claim is of another type')

/** The value of `$sub` or of a claim; undefined if the caller has no usable one. */
function claimOf(
  value: Extract<RuleValue, { subject: true } | { claim: string }>,
  { subject, claims }: Caller,
): unknown {
  const claimed = 'subject' in value ? subject : Object.hasOwn(claims, value.claim) ? claims[value.claim] : undefined
  if (Array.isArray(claimed)) return (claimed as readonly Json[]).every(isUsable) ? claimed : undefined
  return claimed !== undefined && isUsable(claimed) ? claimed : undefined
}

/** JavaScript rounds larger numbers. */
function isUsable(value: Json): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  return typeof value === 'boolean'
}

/** Whether a value, or an item of a list, is of the declared type of a claim. */
export function isClaimValue({ type, declared }: AuthSpec['claims'][number], value: unknown): boolean {
  if (typeof value !== type || !isUsable(value as Json)) return false
  return typeof value === 'boolean' || declared.parse(String(value), {}) !== undefined
}

/** A value that statements look up: the key of the caller's record. */
export class CallerKey {
  readonly user: UserSpec
  readonly caller: Caller

  constructor(user: UserSpec, caller: Caller) {
    this.user = user
    this.caller = caller
  }
}

/** The subject as a value of the field that it is compared with. */
export const subjectAs = remember(
  (match: FieldSpec): CallerValue =>
    ({ subject }) =>
      subject === undefined ? undefined : valueOf(match, subject),
)

/** The key under which rows have the names of fields that plugins have set: grants need not name them. */
const SET_BY_CODE: unique symbol = Symbol('set by code')

interface PartlyByCode {
  readonly [SET_BY_CODE]?: ReadonlySet<string>
}

/** Records fields that plugins have set, in addition to those recorded before. */
export function setByCode(row: Row, names: readonly string[]): Row {
  const marked: Row & PartlyByCode = {
    ...row,
    [SET_BY_CODE]: new Set([...((row as PartlyByCode)[SET_BY_CODE] ?? []), ...names]),
  }
  return marked
}

/** Whether the caller has sent all fields of a row. */
export function isSentWhole(row: Row): boolean {
  return (row as PartlyByCode)[SET_BY_CODE] === undefined
}

/** Whether the caller has sent a field of a row. */
export function isSent(row: Row, name: string): boolean {
  return Object.hasOwn(row, name) && (row as PartlyByCode)[SET_BY_CODE]?.has(name) !== true
}

/** The value of a preset; undefined if the caller has no value of the field's type. */
export function presetValue(field: FieldSpec, value: RuleValue, caller: Caller): unknown {
  if ('literal' in value) return value.literal
  if ('set' in value) return undefined
  if ('user' in value) return caller.subject === undefined ? undefined : new CallerKey(value.user, caller)
  const claimed = claimOf(value, caller)
  const isList = field.type.items !== undefined
  return claimed === undefined || Array.isArray(claimed) !== isList ? undefined : valueOf(field, claimed)
}
