import { hash } from 'node:crypto'
import type { Identity } from '../resource/identity.js'

/** Identities of verified tokens, for a while: verifying one takes longer than a short request. */
export interface Identities {
  find(token: string): Identity | undefined
  /** Changes with `clear`. */
  readonly generation: () => number
  /**
   * @param until when the identity must be verified again, in ms since 1970
   * @param generation the one before the token was verified; an identity of an older one is not kept
   */
  keep(token: string, identity: Identity, until: number, generation: number): void
  clear(): void
}

const MAX_IDENTITIES = 10_000
const MAX_AGE = 5 * 60_000

/**
 * The whole token is the key, so that no two tokens can share an identity; only its hash is kept.
 * @param maxAge the maximum time for which an identity is cached, in ms
 */
export function createIdentities(maxAge = MAX_AGE): Identities {
  let generation = 0
  const known = new Map<string, { readonly identity: Identity; readonly until: number }>()
  const keyOf = (token: string): string => hash('sha256', token, 'base64url')
  return {
    find(token) {
      const key = keyOf(token)
      const found = known.get(key)
      if (found && found.until > Date.now()) return found.identity
      if (found) known.delete(key)
      return undefined
    },
    generation: () => generation,
    keep(token, identity, until, from) {
      if (from !== generation) return
      if (known.size >= MAX_IDENTITIES) known.delete(known.keys().next().value ?? '')
      known.set(keyOf(token), { identity, until: Math.min(until, Date.now() + maxAge) })
    },
    clear() {
      generation += 1
      known.clear()
    },
  }
}
