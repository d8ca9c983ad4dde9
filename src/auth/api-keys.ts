import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AuthSpec } from '../config/spec.js'
import type { StoredKey, StoredKeys } from '../db/records/stored-keys.js'
import type { Identity } from '../resource/identity.js'
import { ageOf, thisMoment } from './age.js'
import { frozenIdentity, typedClaims } from './claims.js'
import { createIdentities } from './identities.js'
import { unauthorized } from './unauthorized.js'

/** How API keys begin, so that searches for leaked secrets find them. */
export const KEY_PREFIX = 'snk_'

const FORM = /^snk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/

/** How long a verified key is accepted without querying the database, in ms. */
const MAX_AGE = 10_000

/** A new key, with an identifier that may be shown and a secret of 256 bits. */
export function makeKey(): { readonly key: string; readonly id: string; readonly digest: string } {
  const id = randomBytes(8).toString('hex')
  const key = `${KEY_PREFIX}${id}_${randomBytes(32).toString('base64url')}`
  return { key, id, digest: digestOf(key) }
}

/** The identifier of a key, or the text itself. */
export function keyId(text: string): string {
  return FORM.exec(text)?.[1] ?? text
}

/**
 * Compiles the verification of API keys.
 * @param find reads a key from the primary database, because a replica may not know yet that it was revoked
 * @throws Problem `unauthorized`; `unavailable` if the database cannot be queried
 */
export function compileKeys(auth: AuthSpec, find: StoredKeys['find']): (key: string) => Identity | Promise<Identity> {
  const identities = createIdentities(MAX_AGE)
  const asking = new Map<string, Promise<Identity>>()
  const verify = async (key: string, id: string): Promise<Identity> => {
    const asked = thisMoment()
    const stored = await find(id)
    if (!stored || !isSame(stored.digest, digestOf(key))) throw unauthorized(auth, 'the API key is not valid here')
    if (stored.revokedAt) throw unauthorized(auth, 'the API key was revoked')
    const expires = stored.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    if (expires <= Date.now()) throw unauthorized(auth, 'the API key has expired')
    const identity = identityOf(stored, auth)
    identities.keep(key, identity, { expires, freshFor: MAX_AGE - ageOf(asked) }, identities.generation())
    return identity
  }
  const verified = async (key: string): Promise<Identity> => {
    const id = FORM.exec(key)?.[1]
    if (id === undefined) throw unauthorized(auth, 'the API key is not valid here')
    const digest = digestOf(key)
    const pending = asking.get(digest) ?? verify(key, id).finally(() => asking.delete(digest))
    asking.set(digest, pending)
    return pending
  }
  return (key) => identities.find(key) ?? verified(key)
}

function identityOf({ subject, roles, claims }: StoredKey, auth: AuthSpec): Identity {
  return frozenIdentity({
    subject,
    roles: auth.roles.filter((role) => roles.includes(role)),
    claims: typedClaims(auth, ({ name }) => (Object.hasOwn(claims, name) ? claims[name] : undefined)),
    method: 'key',
  })
}

function digestOf(key: string): string {
  return hash('sha256', key, 'base64url')
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
