import { hash } from 'node:crypto'
import { callerOf, type Profile } from '../access/profiles.js'
import type { KeyedRequest } from '../db/records/stored-responses.js'
import type { Caller, Membership } from '../resource/access.js'
import type { Identity } from '../resource/identity.js'
import type { Scopes } from '../resource/plan.js'
import { formatScopes } from '../resource/scope.js'

/** The owner of idempotency keys, as text: a scope, a caller, or both. Undefined if all requests share their keys. */
export function formatOwner(scopes: Scopes | undefined, identity: Identity | undefined): string | undefined {
  if (!identity) return scopes && formatScopes(scopes)
  return JSON.stringify([identity.method, identity.subject, scopes ? formatScopes(scopes) : null])
}

/** Reads a text for the memberships of a caller; equal memberships have equal texts. */
export type ReadMemberships = (memberships: readonly Membership[], caller: Caller) => Promise<string>

/**
 * A fingerprint of what a caller may do: its claims, the grants to its roles, and its memberships.
 * @param read reads the memberships of the caller
 */
export async function fingerprintOf(
  profile: Profile,
  identity: Identity | undefined,
  read: ReadMemberships,
): Promise<string> {
  const memberships = profile.memberships()
  const found = memberships.length === 0 || !identity ? '' : await read(memberships, callerOf(identity))
  const claims = Object.entries(identity?.claims ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return hash('sha256', `${JSON.stringify(claims)}\n${profile.rights()}\n${found}`, 'base64url')
}

/**
 * Each owner has its own keys. The leading space keeps them apart from the keys that clients send. `rights` is the fingerprint of what the caller
 * may do: a stored response may show what it may not see any more.
 */
export function askedBy(owner: string | undefined, given: KeyedRequest, rights: string | undefined): KeyedRequest {
  const asked = rights === undefined ? given : { ...given, rights }
  if (owner === undefined) return asked
  return { ...asked, key: ` ${hash('sha256', `${owner}\n${asked.key}`, 'base64url')}` }
}
