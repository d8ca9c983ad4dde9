import { hash } from 'node:crypto'
import type { Identity } from '../resource/identity.js'
import { ageOf, type Moment, thisMoment } from './age.js'

/** Identities of verified tokens, for a while: verifying one takes longer than a short request. */
export interface Identities {
  /** @param connection where the token is remembered, because clients repeat it and hashing takes longer than comparing; without it, only hashes are kept */
  find(token: string, connection?: object): Identity | undefined
  /** Changes with `clear`. */
  readonly generation: () => number
  /**
   * @param generation the one before the token was verified; an identity of an older one is not kept
   */
  keep(token: string, identity: Identity, until: Until, generation: number): void
  clear(): void
}

interface Until {
  /** When the credential expires, in ms since 1970. */
  readonly expires: number
  /** How long it need not be verified again, in ms. */
  readonly freshFor: number
}

interface Known {
  readonly identity: Identity
  readonly expires: number
  readonly at: Moment
  readonly maxAge: number
}

const MAX_IDENTITIES = 10_000
const MAX_AGE = 5 * 60_000

/**
 * The whole token is the key, so that no two tokens can share an identity; only its hash is kept.
 * @param maxAge the maximum time for which an identity is cached, in ms
 */
export function createIdentities(maxAge = MAX_AGE): Identities {
  let generation = 0
  const known = new Map<string, Known>()
  const keyOf = (token: string): string => hash('sha256', token, 'base64url')
  const lastOf = new WeakMap<object, { readonly token: string; readonly key: string }>()
  const keyOn = (connection: object, token: string): string => {
    const last = lastOf.get(connection)
    if (last?.token === token) return last.key
    const key = keyOf(token)
    lastOf.set(connection, { token, key })
    return key
  }
  return {
    find(token, connection) {
      const key = connection ? keyOn(connection, token) : keyOf(token)
      const found = known.get(key)
      if (found && found.expires > Date.now() && ageOf(found.at) < found.maxAge) return found.identity
      if (found) known.delete(key)
      return undefined
    },
    generation: () => generation,
    keep(token, identity, { expires, freshFor }, from) {
      if (from !== generation) return
      if (known.size >= MAX_IDENTITIES) known.delete(known.keys().next().value ?? '')
      known.set(keyOf(token), { identity, expires, at: thisMoment(), maxAge: Math.min(freshFor, maxAge) })
    },
    clear() {
      generation += 1
      known.clear()
    },
  }
}
