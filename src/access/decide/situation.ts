import {
  ANYONE,
  type AppSpec,
  type FieldSpec,
  type GrantSpec,
  type Operation,
  type ResourceSpec,
  SIGNED_IN,
} from '../../config/spec.js'
import type { Json } from '../../foundation/json.js'
import { isClaimValue } from '../../resource/access.js'
import type { Lookup } from '../../lookups/lookup.js'
import type { StoredText, Verdict } from './compare.js'
import { evaluateRule, type Known, type StoredRecord } from './evaluate.js'

/** The caller of a request. */
export interface Caller {
  readonly subject: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, Json>>
}

/** A request, after parsing. */
export interface AccessRequest {
  readonly operation: Operation
  /** The texts of the key, for an operation on one record. */
  readonly id?: readonly string[]
  /** The values of the body; undefined without one. */
  readonly body?: StoredRecord
  readonly filters?: readonly Comparison[]
  readonly words?: readonly string[]
  readonly order?: readonly { readonly field: string; readonly descending: boolean }[]
  readonly distinct?: string
  /** The record as the caller saw it: its entity tag is in `If-Match`. */
  readonly seen?: StoredRecord
  /** The grants that can cover it; by default, all of them. */
  readonly among?: readonly GrantSpec[]
}

export interface Comparison {
  /** The relations that lead to the record of the field; none for the record itself. */
  readonly relations?: readonly string[]
  readonly field: string
  readonly lookup: Lookup
  readonly wanted: readonly string[]
}

/** The expected response of the service. */
export interface Decision {
  /** Undefined if it depends on something that is not known. */
  readonly status: number | undefined
  /** The visible part of one record, or of all records of a list in their order; undefined for a list if it is not known which records it has. */
  readonly records?: readonly StoredRecord[]
  /** The record as the request leaves it; values that the database assigns are undefined. */
  readonly stored?: Readonly<Record<string, StoredText | undefined>>
}

/** Everything that a decision depends on. */
export interface Situation {
  readonly spec: AppSpec
  readonly resource: ResourceSpec
  /** Undefined for a caller who has not signed in. */
  readonly caller: Caller | undefined
  readonly known: Known
}

/** The caller and the records, for the evaluation of rules. Claims that do not have their declared type are left out. */
export function knownBy({ auth }: AppSpec, caller: Caller | undefined, records: Known['records']): Known {
  const claims = (auth?.claims ?? []).flatMap((claim): readonly (readonly [string, Json])[] => {
    const { name } = claim
    const value = caller && Object.hasOwn(caller.claims, name) ? caller.claims[name] : undefined
    const items = Array.isArray(value) ? (value as readonly Json[]) : [value]
    return value !== undefined && items.every((item) => isClaimValue(claim, item)) ? [[name, value]] : []
  })
  return { subject: caller?.subject, claims: Object.fromEntries(claims), records }
}

/** Whether a grant applies to a caller. */
export function isTo({ to }: GrantSpec, caller: Caller | undefined): boolean {
  return to === ANYONE || (caller !== undefined && (to === SIGNED_IN || caller.roles.includes(to)))
}

/** The grants of a resource that allow an operation to a caller. */
export function grantsOf(
  { access }: ResourceSpec,
  operation: string,
  caller: Caller | undefined,
): readonly GrantSpec[] {
  return (access ?? []).filter((grant) => isTo(grant, caller) && grant.may.includes(operation))
}

/** The record with a key; undefined if there is none. */
export function findRecord({ resource: { model }, known }: Situation, id: readonly string[]): StoredRecord | undefined {
  return known.records(model.table)?.find((each) => model.key.every(({ name }, place) => each[name] === id[place]))
}

/** Whether a grant of a reading operation shows a field to the caller. */
export function showsSome({ resource, caller }: Situation, operation: Operation, field: string): boolean {
  const isShown = resource.shown.some(({ name }) => name === field)
  return isShown && grantsOf(resource, operation, caller).some(({ fields }) => fields.includes(field))
}

/** The part of a record that the grants of a reading operation show together; undefined if none covers the record. */
export function shownPart(
  { resource, caller, known }: Situation,
  reading: 'list' | 'retrieve',
  record: StoredRecord,
): StoredRecord | 'unknown' | undefined {
  const evaluated = grantsOf(resource, reading, caller).map((grant) => ({
    grant,
    holds: evaluateRule(grant.rows, record, known).holds,
  }))
  if (evaluated.some(({ holds }) => holds === undefined)) return 'unknown'
  const covering = evaluated.filter(({ holds }) => holds === true)
  if (covering.length === 0) return undefined
  const names = new Set(covering.flatMap(({ grant }) => grant.fields))
  const shown = resource.shown.filter(({ name, joined }) => joined === undefined && names.has(name))
  return Object.fromEntries(shown.map(({ name }) => [name, record[name] ?? null]))
}

/** Whether a record is still as the caller saw it. */
export function isUnchanged({ seen }: AccessRequest, shown: StoredRecord): boolean {
  return seen === undefined || JSON.stringify(seen) === JSON.stringify(shown)
}

/** Whether the caller sees a field of a record when it retrieves or lists the record; undefined if that is not known. */
export function isSeen(situation: Situation, record: StoredRecord, field: string): Verdict {
  const parts = (['retrieve', 'list'] as const).map((reading) => shownPart(situation, reading, record))
  if (parts.some((part) => part !== undefined && part !== 'unknown' && field in part)) return true
  return parts.includes('unknown') ? undefined : false
}

/**
 * Returns the field with a name.
 *
 * @throws Error if none of the fields has the name
 */
export function fieldOf(fields: readonly FieldSpec[], name: string): FieldSpec {
  const field = fields.find((each) => each.name === name)
  if (field === undefined)
    throw new Error(`no field is named ${name}; the fields are ${fields.map((each) => each.name).join(', ')}`)
  return field
}
