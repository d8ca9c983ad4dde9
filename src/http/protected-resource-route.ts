import { protectedResource } from '../auth/protected-resource.js'
import type { AuthSpec } from '../config/spec.js'
import type { Route } from './route.js'

/** The route of the metadata that tells clients how to sign in (RFC 9728). Anybody may request it, because its clients have not signed in yet. */
export function protectedResourceRoutes(auth: AuthSpec | undefined): readonly Route[] {
  const found = auth && protectedResource(auth)
  if (!found) return []
  const { path, document } = found
  return [
    {
      name: 'protected-resource',
      method: 'GET',
      path,
      source: 'built in',
      handle: () => ({ status: 200, body: document }),
    },
  ]
}
