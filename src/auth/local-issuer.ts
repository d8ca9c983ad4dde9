import type { JWK } from 'jose'
import { membersOf } from '../config/schema/yaml-shape.js'
import type { AuthSpec, JwtSpec } from '../config/spec.js'
import type { Json } from '../foundation/json.js'

/** A private key that signs tokens, as a JSON Web Key (RFC 7517) with its algorithm and identifier. */
export type SigningKey = JWK & { readonly alg: string; readonly kid: string }

/** Makes a key pair for an algorithm (RFC 7518); its identifier is its thumbprint (RFC 7638). */
export async function makeIssuerKey(alg: string): Promise<SigningKey> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, alg, kid: await calculateJwkThumbprint(jwk) }
}

/** Whether a parsed JSON value has the members of a private key that tokens are signed with. */
export function isSigningKey(value: unknown): value is SigningKey {
  const members = Object.fromEntries(membersOf(value as Json))
  return ['kty', 'd', 'alg', 'kid'].every((name) => typeof members[name] === 'string')
}

/** The key set with the public half of a key. */
export function keysOf({ kty, n, e, crv, x, y, alg, kid }: SigningKey): { readonly keys: readonly JWK[] } {
  const half = Object.entries({ kty, n, e, crv, x, y, alg, kid, use: 'sig' })
  return { keys: [Object.fromEntries(half.filter(([, value]) => value !== undefined))] }
}

export interface TokenCaller {
  readonly subject: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, Json>>
}

/** The settings of the service for tokens, and the lifetime of one token. */
export interface TokenTerms {
  readonly auth: AuthSpec
  readonly jwt: JwtSpec
  readonly seconds: number
}

/** Signs a token with everything that is known of a caller, in the claims that `auth` reads. */
export async function signToken(
  { subject, roles, claims }: TokenCaller,
  key: SigningKey,
  { auth, jwt, seconds }: TokenTerms,
): Promise<string> {
  const { importJWK, SignJWT } = await import('jose')
  const payload: Record<string, Json> = {}
  if (auth.rolesFrom && roles.length > 0) setAt(payload, auth.rolesFrom, [...roles])
  for (const { name, from } of auth.claims) {
    const value = claims[name]
    if (value !== undefined) setAt(payload, from, value)
  }
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT(payload)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: jwt.typ ?? 'JWT' })
    .setIssuer(jwt.issuer)
    .setAudience(jwt.audience)
    .setSubject(subject)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(await importJWK(key))
}

function setAt(payload: Record<string, Json>, [step = '', ...rest]: readonly string[], value: Json): void {
  if (rest.length === 0) {
    payload[step] = value
    return
  }
  const inner = Object.fromEntries(membersOf(payload[step]))
  setAt(inner, rest, value)
  payload[step] = inner
}
