import type { FieldSpec, GrantSpec, ModelSpec } from '../../../config/spec.js'
import { JsonMergePatch } from '../../../fields/spelling/json-text.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableAlias } from '../../../fields/table-name.js'
import { CallerKey, seenRule } from '../../../resource/access.js'
import type { Row } from '../../../resource/plan.js'
import type { Granted } from './bounds.js'
import type { Covering } from './granted-writes.js'
import { replacing } from '../columns.js'
import { mergedInto } from '../merge-patch.js'
import type { Parameters } from '../parameters.js'
import { type Asking, callerKeySql, ruleSql } from './rules.js'
import { failUnless } from './scope.js'

/** How an update gets its values. */
export interface Sending {
  readonly params: Parameters
  /** Whether the values are those that documents have, in which a stored JSON null is null. */
  readonly isDocument?: boolean
}

/** The caller with its rights, and how one statement gets its values. */
type Writing = Asking & Granted & Sending

/** The condition under which a grant covers the record as it is stored, before a change. */
export function coversBefore({ table }: ModelSpec, { grant, unchanged }: Covering, row: Row, asking: Writing): string {
  const owner = tableAlias(table)
  const same = unchanged.map((field) => unchangedBy({ table }, field, row, asking))
  const rule = ruleSql(grant.rows, owner, asking)
  return [...(rule === 'true' ? [] : [rule]), ...same].join(' and ') || 'true'
}

/** The condition under which one of several grants covers the record before a change; `true` without a parameter if one always does. */
export function coveredBefore(model: ModelSpec, coverings: readonly Covering[], row: Row, asking: Writing): string {
  if (coverings.some(isUnlimited)) return 'true'
  return anyOf(coverings.map((each) => coversBefore(model, each, row, asking)))
}

/** The condition under which one of several grants covers a record as it is stored. */
export function coversStored(model: ModelSpec, grants: readonly GrantSpec[], asking: Writing): string {
  const coverings = grants.map((grant) => ({ grant, unchanged: [] }))
  return coveredBefore(model, coverings, {}, asking)
}

/** Whether a grant covers every record before a change. */
function isUnlimited({ grant, unchanged }: Covering): boolean {
  return grant.rows === undefined && unchanged.length === 0
}

/** The condition under which one of several grants covers a record as stored; `true` without a parameter if one always does. */
export function coveredAfter(
  model: ModelSpec,
  coverings: readonly Covering[],
  kind: 'create' | 'change',
  asking: Asking,
): string {
  if (coverings.some(({ grant }) => coversAny(grant, kind))) return 'true'
  return anyOf(coverings.map((each) => coversAfter(model, each, kind, asking)))
}

/** Whether a grant covers every record after a write. */
export function coversAny(grant: GrantSpec, kind: 'create' | 'change'): boolean {
  return (
    (kind === 'create' ? grant.rows : grant.becomes) === undefined && !grant.set.some(({ value }) => 'user' in value)
  )
}

/**
 * The condition that a change leaves a field as it is. Values are compared exactly, because different ones can be equal: intervals of a month and of
 * 30 days, or texts in a column that ignores case.
 */
export function sameSql({ table }: Pick<ModelSpec, 'table'>, field: FieldSpec, row: Row, sending: Sending): string {
  const stored = `${tableAlias(table)}.${identifier(field.column)}`
  // A value gets the type of the column.
  const given = `case when false then ${stored} else ${changedSql({ table }, field, row, sending)} end`
  const exact = field.type.exact ?? exactText
  return `${exact(stored)} is not distinct from ${exact(given)}`
}

/** The condition that a change leaves a field as it is, and the record shows the field: a hidden value could be guessed. */
export function unchangedBy(model: Pick<ModelSpec, 'table'>, field: FieldSpec, row: Row, asking: Writing): string {
  const owner = tableAlias(model.table)
  const same = sameSql(model, field, row, asking)
  const seen = seenRule(asking.access, field.name)
  return seen === undefined ? same : `(${same} and ${ruleSql(seen, owner, asking)})`
}

function exactText(value: string): string {
  return `(${value})::text collate "C"`
}

/** The condition under which a grant covers the record as the statement has stored it. */
export function coversAfter(
  { table }: ModelSpec,
  { grant }: Covering,
  kind: 'create' | 'change',
  asking: Asking,
): string {
  const owner = tableAlias(table)
  const rule = ruleSql(kind === 'create' ? grant.rows : grant.becomes, owner, asking)
  // The record of the caller may not exist.
  const keys = grant.set
    .filter(({ value }) => 'user' in value)
    .map(({ field }) => `${owner}.${identifier(field.column)} is not null`)
  return [...(rule === 'true' ? [] : [rule]), ...keys].join(' and ') || 'true'
}

/** The SQL of a value that a row has for a field. */
export function writtenSql(field: FieldSpec, row: Row, params: Parameters): string {
  const value = row[field.name]
  return value instanceof CallerKey ? callerKeySql(value, params) : params.addWritten(field, row)
}

/** The SQL of the value that an update stores for a field: a document that is sent back as it was read changes nothing. */
export function changedSql(
  { table }: Pick<ModelSpec, 'table'>,
  field: FieldSpec,
  row: Row,
  { params, isDocument = false }: Sending,
): string {
  const stored = `${tableAlias(table)}.${identifier(field.column)}`
  const value = row[field.name]
  if (value instanceof JsonMergePatch) return mergedInto(stored, value, (part) => params.add(part))
  const written = writtenSql(field, row, params)
  return isDocument ? replacing(field, stored, written) : written
}

/** The error of a record that no grant covers. */
export const DENIED = 'no grant covers the record'

/** An addition to `returning` that makes the statement fail unless a condition holds. */
export function demand(condition: string): string {
  return condition === 'true' ? '' : failUnless(condition, DENIED)
}

/** Joins conditions by `or`; `true` if one always holds. */
export function anyOf(conditions: readonly string[]): string {
  if (conditions.includes('true')) return 'true'
  return conditions.length === 0 ? 'false' : `(${conditions.map((each) => `(${each})`).join(' or ')})`
}
