import type { Route } from './route.js'
import { RouteTable } from './route-table.js'
import type { ServerParts } from './server/server.js'
import { protectedResource } from '../auth/protected-resource.js'
import type { AuthSpec } from '../config/spec.js'

/** The routes of an application; requests without a route go to the built-in routes. */
export function withBuiltIn(routes: RouteTable, builtIn: readonly Route[]): ServerParts['routes'] {
  const behind = new RouteTable()
  for (const route of builtIn) behind.add(route)
  return {
    match: (method, path) => routes.match(method, path) ?? behind.match(method, path),
    rendererAt: (path) => routes.rendererAt(path),
    reverse: (name, params) => routes.reverse(name, params),
  }
}

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
