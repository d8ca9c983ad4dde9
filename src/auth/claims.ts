import type { AuthSpec } from '../config/spec.js'
import type { Json } from '../foundation/json.js'
import { isClaimValue } from '../resource/access.js'
import { isStorable } from '../fields/spelling/formats.js'
import type { Identity } from '../resource/identity.js'

/** Returns the claims whose values have the declared types; other claims are ignored. */
export function typedClaims({ claims }: AuthSpec, given: (claim: AuthSpec['claims'][number]) => Json | undefined) {
  const found = claims.flatMap((claim): readonly (readonly [string, Json])[] => {
    const value = given(claim)
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    return value !== undefined && items.every((item) => isClaimValue(claim, item)) ? [[claim.name, value]] : []
  })
  return Object.fromEntries(found)
}

const MAX_SUBJECT = 255

/** Whether rules can compare a subject with columns, and logs can show it. */
export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT && isStorable(value)
}

/** An identity that handlers cannot change: later requests with the same credential have it, too. */
export function frozenIdentity({ subject, roles, claims, method }: Identity): Identity {
  const values = Object.entries(claims).map(([name, value]) => [
    name,
    Array.isArray(value) ? Object.freeze([...(value as readonly Json[])]) : value,
  ])
  const copied = Object.fromEntries(values) as Identity['claims']
  return Object.freeze({ subject, roles: Object.freeze([...roles]), claims: Object.freeze(copied), method })
}
