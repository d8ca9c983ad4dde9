import type { Lookup } from '../lookups/lookup.js'
import type { FieldSpec, ModelSpec, RelationSpec } from './model-spec.js'

/** Grants to everybody, and to every caller who has signed in. All other grants are to roles. */
export const ANYONE = 'anyone'
export const SIGNED_IN = 'signed_in'

/** Whether a grant to `one` applies to every caller to whom a grant to `other` applies. */
export function isToAll(one: string, other: string): boolean {
  return one === other || one === ANYONE || (one === SIGNED_IN && other !== ANYONE)
}

/** A grant, one line of `access`: it allows operations and actions on records to a role. */
export interface GrantSpec {
  /** `anyone`, `signed_in`, or a role. */
  readonly to: string
  /** Names of operations and actions. */
  readonly may: readonly string[]
  /** The condition on the stored record, or on the new record of a creation. Undefined for all records. */
  readonly rows: Rule | undefined
  /** The condition on a changed record. */
  readonly becomes: Rule | undefined
  /** The names of the fields that responses show, or that requests may send. */
  readonly fields: readonly string[]
  /** Values that the server sets instead of those that clients send. */
  readonly set: readonly { readonly field: FieldSpec; readonly value: RuleValue }[]
}

/** Conditions on a record: all conditions of at least one list must hold. */
export type Rule = readonly (readonly RuleCondition[])[]

export interface RuleCondition {
  /** The relations that lead to the record of the field; empty for the record itself. */
  readonly relations: readonly { readonly field: FieldSpec; readonly target: RelationSpec }[]
  readonly field: FieldSpec
  readonly lookup: Lookup
  readonly value: RuleValue
}

/** The right side of a condition. */
export type RuleValue =
  | { readonly literal: unknown }
  | { readonly subject: true }
  /** The name of a claim of the caller. */
  | { readonly claim: string }
  /** The key of the record that stands for the caller. */
  | { readonly user: UserSpec }
  /** The values of a field in the records that belong to the caller. */
  | { readonly set: SetSpec }

/** `auth.user`: the record that stands for the caller. */
export interface UserSpec {
  readonly model: ModelSpec
  readonly key: FieldSpec
  /** The field with the subject. */
  readonly match: FieldSpec
}

/** One of `auth.sets`. */
export interface SetSpec {
  readonly name: string
  readonly model: ModelSpec
  readonly field: FieldSpec
  readonly rows: Rule
}
