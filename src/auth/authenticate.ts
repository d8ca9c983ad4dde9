import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isLoopback } from '../config/host.js'
import type { AuthSpec } from '../config/spec.js'
import type { StoredKeys } from '../db/records/stored-keys.js'
import { Problem } from '../problem.js'
import type { Identity } from '../resource/identity.js'
import { compileKeys, KEY_PREFIX } from './api-keys.js'
import { typedClaims } from './claims.js'
import { compileJwt } from './jwt.js'
import { unauthorized } from './unauthorized.js'

/**
 * Finds out who sent a request; undefined for a caller who shows no credential.
 * @throws Problem `unauthorized` for a credential that is not valid, `malformed_request` for two of them
 */
export type Authenticate = (request: IncomingMessage) => Identity | undefined | Promise<Identity | undefined>

interface Surroundings {
  /** Whether `NODE_ENV` is not `production`. */
  readonly development: boolean
  /** Reads an API key; undefined without `auth.keys`. */
  readonly findKey: StoredKeys['find'] | undefined
}

/** One way to sign in, by the scheme of `Authorization`. */
type Verify = (credential: string, request: IncomingMessage) => Identity | undefined | Promise<Identity | undefined>

/** Compiles the ways to sign in. */
export function compileAuthenticate(auth: AuthSpec, { development, findKey }: Surroundings): Authenticate {
  const schemes = new Map<string, Verify>()
  schemes.set('bearer', bearer(auth, findKey))
  if (development) schemes.set('dev', developmentIdentities(auth))
  return async (request) => {
    const given = request.headersDistinct['authorization'] ?? []
    if (given.length > 1) throw new Problem('malformed_request', 'the request has more than one Authorization header')
    const [text] = given
    if (text === undefined) return undefined
    const at = text.indexOf(' ')
    const scheme = text.slice(0, at)
    const credential = text.slice(at + 1).trim()
    const identity = await schemes.get(scheme.toLowerCase())?.(credential, request)
    if (identity === undefined) throw unauthorized(auth, 'the credential is not valid here')
    return identity
  }
}

/** An API key or a token, by its first characters. */
function bearer(auth: AuthSpec, findKey: Surroundings['findKey']): Verify {
  const byKey = findKey && compileKeys(auth, findKey)
  const byToken = auth.jwt && compileJwt(auth, auth.jwt)
  return (credential) => (byKey && credential.startsWith(KEY_PREFIX) ? byKey(credential) : byToken?.(credential))
}

/** `Authorization: Dev ann`, for callers on the same machine. */
function developmentIdentities(auth: AuthSpec): Verify {
  const identities = auth.development.map((each) => ({
    ...each,
    claims: typedClaims(auth, ({ name }) => (Object.hasOwn(each.claims, name) ? each.claims[name] : undefined)),
  }))
  return (name, { socket, headers }) =>
    isLoopback(socket.remoteAddress) && !isForwarded(headers)
      ? identities.find(({ subject }) => subject === name)
      : undefined
}

/** Behind a proxy on this machine, every caller has a local address. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['forwarded'] !== undefined || headers['x-forwarded-for'] !== undefined
}
