import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import type { AuthSpec } from '../config/spec.js'
import type { Json } from '../foundation/json.js'
import type { Identity } from '../resource/identity.js'
import { frozenIdentity, isSubject, typedClaims } from './claims.js'

/** The head of a request, by which a plugin finds out who sent it. */
export interface RequestHead {
  readonly method: string
  /** The request target as it was sent: the path and the query, or a whole URL if the client sent one. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The address of the connected client, or of the proxy in front of the service. */
  readonly remoteAddress: string | undefined
}

/** The caller, according to a plugin. Roles and claims that the configuration does not have are ignored. */
export interface PluginIdentity {
  readonly subject: string
  readonly roles?: readonly string[]
  readonly claims?: Readonly<Record<string, Json>>
}

/** Finds out who sent a request; undefined if it has no credential of this kind. */
export type FindIdentity = (head: RequestHead) => PluginIdentity | undefined | Promise<PluginIdentity | undefined>

/** A way to sign in that a plugin has added. */
export interface Authenticator {
  readonly name: string
  readonly find: FindIdentity
  /** Where the plugin added it, for messages. */
  readonly placeOf: () => string
}

/**
 * Asks plugins in order of registration, until one knows the caller.
 * @throws the error of a plugin; TypeError for an invalid identity
 */
export function askPlugins(
  auth: AuthSpec,
  authenticators: readonly Authenticator[],
): (request: IncomingMessage) => Promise<Identity | undefined> {
  return async ({ method = '', url = '', headers, socket: { remoteAddress } }) => {
    for (const { name, find, placeOf } of authenticators) {
      const found = await find({ method, url, headers, remoteAddress })
      if (found === undefined) continue
      const invalid = (returned: string) => new TypeError(`authenticate('${name}') (${placeOf()}) returned ${returned}`)
      if (typeof found !== 'object' || found === null)
        throw invalid(
          `${typeof found === 'string' ? 'a string' : inspect(found)}; it must return an identity, such as { subject: 'ann' }, or undefined for a request without its credential`,
        )
      const { subject, roles = [], claims = {} } = found
      if (!isSubject(subject))
        throw invalid('an invalid subject; it must have 1 to 255 characters that PostgreSQL can store')
      if (!Array.isArray(roles)) throw invalid('roles that are not a list')
      if (typeof claims !== 'object' || claims === null) throw invalid('claims that are not an object')
      return frozenIdentity({
        subject,
        roles: auth.roles.filter((role) => roles.includes(role)),
        claims: typedClaims(auth, (claim) => (Object.hasOwn(claims, claim.name) ? claims[claim.name] : undefined)),
        method: name,
      })
    }
    return undefined
  }
}
