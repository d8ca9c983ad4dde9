import type { IncomingMessage } from 'node:http'
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from 'jose'
import type { AuthSpec, JwtSpec } from '../config/spec.js'
import type { Json } from '../foundation/json.js'
import { Problem } from '../foundation/problem.js'
import { remember } from '../foundation/remember.js'
import type { Identity } from '../resource/identity.js'
import { frozenIdentity, isSubject, typedClaims } from './claims.js'
import { createIdentities } from './identities.js'
import { fileKeysOf } from './key-file.js'
import { createKeyServer, type KeySource } from './key-server.js'
import { unauthorized } from './unauthorized.js'

/** The seconds by which clocks may differ. */
const SKEW = 30
/** The service rejects longer tokens unread. */
export const MAX_TOKEN_LENGTH = 8_192

/**
 * Compiles the verification of bearer tokens (RFC 7519) from one issuer.
 * @throws Problem `unauthorized`; `unavailable` if the keys cannot be fetched
 */
export function compileJwt(
  auth: AuthSpec,
  jwt: JwtSpec,
): (token: string, request: Pick<IncomingMessage, 'socket'>) => Identity | Promise<Identity> {
  const identities = createIdentities()
  const given = fileKeysOf(jwt)
  const keys = given ? fixedKeys(given) : createKeyServer(jwt, identities.clear)
  const verified = async (token: string): Promise<Identity> => {
    if (token.length > MAX_TOKEN_LENGTH) throw unauthorized(auth, 'the token is too long')
    const generation = identities.generation()
    const payload = await verify(token, { auth, jwt, keys })
    const identity = identityOf(payload, auth)
    const until = { expires: Number(payload.exp) * 1000, freshFor: keys.freshFor() }
    // A key that its issuer has withdrawn must not stay valid through a cached identity.
    identities.keep(token, identity, until, generation)
    return identity
  }
  return (token, { socket }) =>
    (token.length > MAX_TOKEN_LENGTH ? undefined : identities.find(token, socket)) ?? verified(token)
}

/**
 * Verifies the signature and the claims of a token by given keys, as the service does.
 * @throws Problem `unauthorized`
 */
export async function verifyToken(
  token: string,
  { auth, jwt, keys }: { readonly auth: AuthSpec; readonly jwt: JwtSpec; readonly keys: JSONWebKeySet },
): Promise<void> {
  await verify(token, { auth, jwt, keys: fixedKeys(keys) })
}

interface Verifying {
  readonly auth: AuthSpec
  readonly jwt: JwtSpec
  readonly keys: KeySource
}

async function verify(token: string, { auth, jwt, keys }: Verifying): Promise<JWTPayload> {
  const { errors, jwtVerify } = await import('jose')
  const options = {
    issuer: jwt.issuer,
    audience: jwt.audience,
    algorithms: [...jwt.algorithms],
    clockTolerance: SKEW,
    requiredClaims: ['exp', 'sub'],
    ...(jwt.typ !== undefined && { typ: jwt.typ }),
  }
  const verifyBy = async (set: JSONWebKeySet): Promise<JWTPayload> => {
    try {
      return (await jwtVerify(token, await keysIn(set), options)).payload
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // A token without the id of its key, while the issuer has several.
      for await (const key of error) {
        const verified = await jwtVerify(token, key, options).catch((cause: unknown) => {
          if (cause instanceof errors.JWSSignatureVerificationFailed) return undefined
          throw cause
        })
        if (verified) return verified.payload
      }
      throw error
    }
  }
  const reject = (cause: unknown): never => {
    if (cause instanceof Problem) throw cause
    throw unauthorized(
      auth,
      cause instanceof errors.JWTExpired ? 'the token has expired' : 'the token is not valid here',
    )
  }
  try {
    return await verifyBy(await keys.current())
  } catch (error) {
    const isUnknown = error instanceof errors.JWKSNoMatchingKey
    // The issuer may have put another key under the same identifier.
    const isOtherKey =
      error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSMultipleMatchingKeys
    if (!isUnknown && !isOtherKey) return reject(error)
    const newer = await keys.newer().catch((cause: unknown) => (isUnknown ? Promise.reject(cause as Error) : undefined))
    return newer === undefined ? reject(error) : verifyBy(newer).catch(reject)
  }
}

function identityOf(payload: JWTPayload, auth: AuthSpec): Identity {
  const { sub } = payload
  if (!isSubject(sub)) throw unauthorized(auth, 'the token has no usable subject')
  return frozenIdentity({
    subject: sub,
    roles: auth.rolesFrom === undefined ? [] : rolesIn(valueAt(payload, auth.rolesFrom), auth.roles),
    claims: typedClaims(auth, ({ from }) => valueAt(payload, from)),
    method: 'jwt',
  })
}

/** The declared roles in a list, or between spaces. */
function rolesIn(given: Json | undefined, known: readonly string[]): readonly string[] {
  const names = typeof given === 'string' ? given.split(' ') : Array.isArray(given) ? (given as readonly Json[]) : []
  return known.filter((role) => names.includes(role))
}

function valueAt(payload: JWTPayload, path: readonly string[]): Json | undefined {
  let found: unknown = payload
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[step]
  }
  return found as Json
}

/** Imports the keys of a set once. A key without an id, as all in PEM are, may have signed a token that names one. */
const keysIn = remember(async (set: JSONWebKeySet): Promise<JWTVerifyGetKey> => {
  const { createLocalJWKSet, errors } = await import('jose')
  const named = createLocalJWKSet(set)
  const unnamed = createLocalJWKSet({ keys: set.keys.filter(({ kid }) => kid === undefined) })
  return (header, token) =>
    named(header, token).catch((error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return unnamed({ alg: header.alg })
    })
})

/** Keys that do not change, such as those of a file, which is read once. */
function fixedKeys(keys: JSONWebKeySet): KeySource {
  return {
    current: () => Promise.resolve(keys),
    newer: () => Promise.resolve(undefined),
    freshFor: () => Number.POSITIVE_INFINITY,
  }
}
