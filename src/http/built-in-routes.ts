import type { Route } from './route.js'
import { RouteTable } from './route-table.js'
import type { ServerParts } from './server/server.js'

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
