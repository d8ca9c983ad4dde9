import type { FieldSpec, GrantSpec, ModelSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { JsonMergePatch } from '../../fields/json-text.js'
import { identifier } from '../../fields/sql-literal.js'
import { tableAlias } from '../../fields/table-name.js'
import { type FieldError, Problem } from '../../problem.js'
import { CallerKey, isSent, presetValue } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'
import type { Granted } from './bounds.js'
import type { Parameters } from './parameters.js'
import { type Asking, callerKeySql, ruleSql } from './rules.js'
import { failUnless } from './scope.js'

/** A row to write, with the values that the server sets, and the grants; one of them must cover the whole row. */
export interface GrantedWrite {
  readonly row: Row
  /** The names of fields whose values the client has sent. */
  readonly sent: ReadonlySet<string>
  readonly coverings: readonly Covering[]
}

/** A grant that names all written fields except some, whose values must not change. */
export interface Covering {
  readonly grant: GrantSpec
  readonly unchanged: readonly FieldSpec[]
}

/**
 * Finds the grants that can cover a row, as far as its fields tell.
 * @throws Problem `forbidden` naming the fields that no grant names
 */
export function grantedWrite(
  model: ModelSpec,
  kind: 'create' | 'change',
  given: Row,
  { caller, access }: Granted,
): GrantedWrite {
  const grants = access[kind]
  const sent = Object.keys(given).filter((name) => isSent(given, name))
  const byCode = (name: string) => Object.hasOwn(given, name) && !isSent(given, name)
  const found = grants.flatMap((grant): readonly Candidate[] => {
    const presets = grant.set
      .filter(({ field }) => !byCode(field.name))
      .map(({ field, value }) => [field.name, presetValue(field, value, caller)] as const)
    if (presets.some(([, value]) => value === undefined)) return []
    const preset = new Map(presets)
    const outside = sent.filter((name) => !preset.has(name) && !grant.fields.includes(name))
    const unchanged = outside.length === 0 ? [] : model.fields.filter(({ name }) => outside.includes(name))
    if (kind === 'create' && unchanged.some((field) => !isDefault(field, given[field.name]))) return []
    return [{ grant, unchanged, preset, ignores: sent.some((name) => preset.has(name)) }]
  })
  const [first] = found.toSorted((one, other) => rankOf(one) - rankOf(other))
  if (first === undefined)
    throw forbiddenFields(
      model,
      given,
      sent.filter((name) => !isNamed(grants, name)),
      kind,
    )
  if (found.every(({ preset }) => preset.size === 0)) return { row: given, sent: new Set(sent), coverings: found }
  const signature = signatureOf(first.preset)
  return {
    row: { ...given, ...Object.fromEntries(first.preset) },
    sent: new Set(sent.filter((name) => !first.preset.has(name))),
    coverings: found.filter(({ preset }) => signatureOf(preset) === signature),
  }
}

interface Candidate extends Covering {
  readonly preset: ReadonlyMap<string, unknown>
  readonly ignores: boolean
}

/** The grant that decides which values the server sets: it must ignore nothing that the client sends, and grants for all records come first. */
function rankOf({ ignores, grant }: Candidate): number {
  return (ignores ? 2 : 0) + (grant.rows === undefined ? 0 : 1)
}

/** Rows with equal signatures are equal. */
function signatureOf(preset: ReadonlyMap<string, unknown>): string {
  const parts = [...preset].map(
    ([name, value]) => [name, value instanceof CallerKey ? 'caller' : String(value)] as const,
  )
  return JSON.stringify(parts.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The fields of a change that no grant names, so that it must leave them as they are. */
export function unnamedFields(model: ModelSpec, row: Row, { access }: Granted): readonly FieldSpec[] {
  return model.fields.filter(({ name }) => isSent(row, name) && !isNamed(access.change, name))
}

function isNamed(grants: readonly GrantSpec[], name: string): boolean {
  return grants.some(({ fields, set }) => fields.includes(name) || set.some(({ field }) => field.name === name))
}

/** Whether the database would give a new record the same value. */
function isDefault(field: FieldSpec, value: unknown): boolean {
  const { default: standard, type, options } = field
  if (standard === undefined) return value === null
  if (!('literal' in standard)) return false
  if (standard.literal === null || value === null) return standard.literal === value
  const same = type.fromJson(standard.literal, JSON.stringify(standard.literal), options)
  return writeCell(field, same) === writeCell(field, value)
}

/** The problem of fields that the caller may not set. */
export function forbiddenFields(
  { fields }: ModelSpec,
  row: Row,
  names: readonly string[],
  kind: 'create' | 'change',
): Problem {
  const blamed = fields.filter(
    (field) => names.includes(field.name) && (kind === 'change' || !isDefault(field, row[field.name])),
  )
  const errors = blamed.map(
    ({ name, label }): FieldError => ({ field: name, message: `${label} cannot be set by this caller` }),
  )
  const detail =
    errors.length === 1
      ? errors[0]?.message
      : errors.length > 1
        ? `${errors.length} fields cannot be set by this caller`
        : NOT_GRANTED
  return new Problem('forbidden', detail, { errors })
}

const NOT_GRANTED = 'no grant allows this change to this caller'

/** The problem of a change that no grant covers. */
export function notGranted(): Problem {
  return new Problem('forbidden', NOT_GRANTED)
}

/** The condition under which a grant covers the record as it is stored, before a change. */
export function coversBefore({ table }: ModelSpec, { grant, unchanged }: Covering, row: Row, asking: Asking): string {
  const owner = tableAlias(table)
  const same = unchanged.map((field) => unchangedBy({ table }, field, row, asking.params))
  const rule = ruleSql(grant.rows, owner, asking)
  return [...(rule === 'true' ? [] : [rule]), ...same].join(' and ') || 'true'
}

/** The condition under which one of several grants covers the record before a change; `true` without a parameter if one always does. */
export function coveredBefore(model: ModelSpec, coverings: readonly Covering[], row: Row, asking: Asking): string {
  if (coverings.some(isUnlimited)) return 'true'
  return anyOf(coverings.map((each) => coversBefore(model, each, row, asking)))
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

/** The condition that a change leaves a field as it is. */
export function unchangedBy(
  { table }: Pick<ModelSpec, 'table'>,
  field: FieldSpec,
  row: Row,
  params: Parameters,
): string {
  // The result of merging a patch is not known before.
  if (row[field.name] instanceof JsonMergePatch) return 'false'
  return `${tableAlias(table)}.${identifier(field.column)} is not distinct from ${writtenSql(field, row, params)}`
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

/** Begins the error of a record that no grant covers. */
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
