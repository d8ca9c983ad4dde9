import { hash } from 'node:crypto'
import type { KeyedRequest } from '../db/records/stored-responses.js'
import type { Identity } from '../resource/identity.js'
import type { Scopes } from '../resource/plan.js'
import { spellScopes } from '../resource/scope.js'

/** The owner of idempotency keys, as text: a scope, a caller, or both. Undefined if all requests share their keys. */
export function spellOwner(scopes: Scopes | undefined, identity: Identity | undefined): string | undefined {
  if (!identity) return scopes && spellScopes(scopes)
  return JSON.stringify([identity.method, identity.subject, scopes ? spellScopes(scopes) : null])
}

/** Each owner has its own keys. The leading space keeps them apart from the keys that clients send. */
export function askedBy(owner: string | undefined, asked: KeyedRequest): KeyedRequest {
  if (owner === undefined) return asked
  return { ...asked, key: ` ${hash('sha256', `${owner}\n${asked.key}`, 'base64url')}` }
}
