import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isLoopback } from '../config/host.js'
import type { AuthSpec } from '../config/spec.js'
import type { StoredKeys } from '../db/records/stored-keys.js'
import { Problem } from '../foundation/problem.js'
import type { Identity } from '../resource/identity.js'
import { compileKeys, KEY_PREFIX } from './api-keys.js'
import { frozenIdentity, typedClaims } from './claims.js'
import { compileJwt } from './jwt.js'
import { askPlugins, type Authenticator } from './plugin-identities.js'
import { compileProxy } from './proxy.js'
import { unauthorized } from './unauthorized.js'

/**
 * Finds out who sent a request; undefined for a caller who shows no credential.
 * @throws Problem `unauthorized` for a credential that is not valid, `malformed_request` for two of them; at once, or by a rejected promise
 */
export type Authenticate = (request: IncomingMessage) => Identity | undefined | Promise<Identity | undefined>

interface Surroundings {
  /** Whether `NODE_ENV` is not `production`. */
  readonly development: boolean
  /** Reads an API key; undefined without `auth.keys`. */
  readonly findKey: StoredKeys['find'] | undefined
  /** The ways to sign in of plugins. */
  readonly authenticators: readonly Authenticator[]
}

/** Verifies one credential; undefined if it has another form. */
type Verify = (credential: string, request: IncomingMessage) => Identity | undefined | Promise<Identity | undefined>

/** Compiles the ways to sign in. A plugin is asked about requests that have no credential of the configuration. */
export function compileAuthenticate(auth: AuthSpec, surroundings: Surroundings): Authenticate {
  const { header } = auth.jwt ?? {}
  const byToken = auth.jwt && compileJwt(auth, auth.jwt)
  const byHeaders = compileAuthorization(auth, header === undefined ? byToken : undefined, surroundings)
  const byProxy = auth.proxy && compileProxy(auth, auth.proxy)
  const { authenticators } = surroundings
  const byPlugin = authenticators.length > 0 ? askPlugins(auth, authenticators) : undefined
  const found = (identity: Identity | undefined, authorization: string | undefined): Identity | undefined => {
    if (identity === undefined && authorization !== undefined)
      throw unauthorized(auth, 'the credential is not valid here')
    return identity
  }
  // Without a promise if the identity is known: most requests come with a token that was verified before.
  return (request) => {
    const authorization = onlyHeader(request, 'authorization')
    const assertion = header === undefined ? undefined : onlyHeader(request, header)
    const proxied = byProxy?.(request)
    if ([authorization, assertion, proxied].filter((each) => each !== undefined).length > 1)
      throw new Problem('malformed_request', 'the request has more than one credential')
    if (proxied) return proxied
    if (assertion !== undefined) return byToken?.(assertion, request)
    const identity = authorization === undefined ? undefined : byHeaders(authorization, request)
    if (identity !== undefined && !('then' in identity)) return identity
    if (identity === undefined && byPlugin === undefined) return found(undefined, authorization)
    return Promise.resolve(identity).then(async (known) => found(known ?? (await byPlugin?.(request)), authorization))
  }
}

/** @throws Problem `malformed_request` for two headers of one name */
function onlyHeader({ headers, rawHeaders }: IncomingMessage, name: string): string | undefined {
  if (headers[name] === undefined) return undefined
  // Node's own lists of repeated headers copy all headers of the request.
  let value: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!isNamed(rawHeaders[at], name)) continue
    if (value !== undefined)
      throw new Problem(
        'malformed_request',
        `the request has more than one ${name === 'authorization' ? 'Authorization' : name} header`,
      )
    value = rawHeaders[at + 1]
  }
  return value
}

function isNamed(header: string | undefined, name: string): boolean {
  return header?.length === name.length && header.toLowerCase() === name
}

/** Compiles the verification of `Authorization`. */
function compileAuthorization(
  auth: AuthSpec,
  byToken: Verify | undefined,
  { development, findKey, authenticators }: Surroundings,
): Verify {
  const byKey = findKey && compileKeys(auth, findKey)
  // Where plugins know other tokens, only a credential in the form of a JWT is one.
  const isToken = (credential: string) => authenticators.length === 0 || credential.split('.').length === 3
  const schemes = new Map<string, Verify>()
  schemes.set('bearer', (credential, request) => {
    if (byKey && credential.startsWith(KEY_PREFIX)) return byKey(credential)
    return isToken(credential) ? byToken?.(credential, request) : undefined
  })
  if (development) schemes.set('dev', developmentIdentities(auth))
  return (text, request) => {
    const at = text.indexOf(' ')
    return schemes.get(text.slice(0, at).toLowerCase())?.(text.slice(at + 1).trim(), request)
  }
}

/** `Authorization: Dev ann`, for callers on the same machine. */
function developmentIdentities(auth: AuthSpec): Verify {
  const identities = auth.development.map((each) =>
    frozenIdentity({
      ...each,
      claims: typedClaims(auth, ({ name }) => (Object.hasOwn(each.claims, name) ? each.claims[name] : undefined)),
    }),
  )
  return (name, { socket, headers }) =>
    isLoopback(socket.remoteAddress) && !isForwarded(headers)
      ? identities.find(({ subject }) => subject === name)
      : undefined
}

/** The headers by which proxies name the client or themselves. */
const FORWARDING = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** Behind a proxy on this machine, every caller has a local address. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return FORWARDING.some((name) => headers[name] !== undefined)
}
