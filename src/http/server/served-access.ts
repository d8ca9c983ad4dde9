import type { IncomingMessage } from 'node:http'
import type { Profiles } from '../../access/profiles.js'
import type { Authenticate } from '../../auth/authenticate.js'
import type { AuthSpec } from '../../config/spec.js'
import type { Problem } from '../../foundation/problem.js'
import type { Identity } from '../../resource/identity.js'
import { denied, type RoutesFor } from '../granted-routes.js'
import type { Method, RouteOptions } from '../route.js'
import type { Exchange } from './exchange.js'

/** Authentication and grants, as the server uses them. */
export interface ServedAccess {
  readonly auth: AuthSpec
  /** The headers on which responses depend, for `Vary`. */
  readonly vary: string
  readonly authenticate: Authenticate
  readonly profiles: Profiles
  readonly routesFor: RoutesFor
  /** Whether a path belongs to the application. The built-in routes answer `OPTIONS` for every caller. */
  readonly isOwn: (path: string) => boolean
}

/** Finds out who sent a request. Returns a promise only if that takes time. @throws what `authenticate` throws */
export function identify(exchange: Exchange, authenticate: Authenticate): Promise<void> | undefined {
  const identity = authenticate(exchange.request)
  if (identity && 'then' in identity)
    return identity.then((found) => {
      exchange.identity = found
    })
  exchange.identity = identity
  return undefined
}

/**
 * Returns what `OPTIONS` says to a caller about a path.
 * @throws Problem `unauthorized`, `forbidden` if the caller may request nothing there
 */
export async function optionsFor(
  { auth, authenticate, profiles, routesFor }: ServedAccess,
  request: IncomingMessage,
  path: string,
): Promise<{ readonly allow: readonly Method[]; readonly options: RouteOptions | undefined }> {
  const identity = await authenticate(request)
  const match = routesFor(profiles(identity)).match('OPTIONS', path)
  if (!match || !('allow' in match)) throw denied(auth, identity)
  return match
}

/** Returns the error for a caller who may not request a mounted router; undefined if `auth.routes` allows it. */
export function whyNotMounted(
  { auth, profiles }: ServedAccess,
  identity: Identity | undefined,
  path: string,
): Problem | undefined {
  return profiles(identity).isAmong(auth.routes[path] ?? []) ? undefined : denied(auth, identity)
}
