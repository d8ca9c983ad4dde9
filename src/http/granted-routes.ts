import type { Profile, Profiles } from '../access/profiles.js'
import { unauthorized } from '../auth/unauthorized.js'
import type { AuthSpec } from '../config/spec.js'
import { Problem } from '../foundation/problem.js'
import { remember } from '../foundation/remember.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import { notFound } from './operations/request.js'
import type { Handler, Route } from './route.js'
import { RouteTable } from './route-table.js'
import { exchangeOf } from './server/exchange.js'

/** The inputs for deciding who may request a route. */
export interface Guarding {
  readonly auth: AuthSpec
  readonly profiles: Profiles
  /** The routes of a resource as some callers see it. */
  readonly routesOf: (resource: Resource) => readonly Route[]
  /** A route with the middleware that plugins added to another. */
  readonly withUsesOf: (route: Route, like: Route) => Route
}

/** The routes that these callers may request, as they see them. */
export type RoutesFor = (profile: Profile) => RouteTable

/**
 * Passes requests on only if a grant allows them: grants of `access` for routes of a resource, of `auth.routes` for others. Callers with
 * different grants have different handlers, compiled for the parts that they may see.
 */
export function guardRoutes(routes: RouteTable, { auth, profiles, routesOf, withUsesOf }: Guarding): RoutesFor {
  const originals = [...routes]
  const ownRoutes = remember(routesOf)
  /** The route as a profile sees it; undefined for the route of partial records, if callers see too little of them to select parts. */
  const ownRoute = (profile: Profile, route: Route): Route | undefined => {
    const { generated, action } = route
    if (action) return { ...route, action: { ...action, resource: profile.resource(action.resource) } }
    if (!generated) return route
    const { resource: original, operation } = generated
    const own = ownRoutes(profile.resource(original, operation))
    const same = own.find(({ name, method }) => name === route.name && method === route.method)
    return same && withUsesOf(same, route)
  }
  const isAllowed = (profile: Profile, { generated, action, name }: Route): boolean => {
    if (generated) return profile.allows(generated.resource, generated.operation)
    return action ? profile.allows(action.resource, action.name) : profile.isAmong(auth.routes[name] ?? [])
  }
  const placesOf = (profile: Profile, { generated, action, name }: Route): readonly string[] => {
    if (generated) return profile.grantPlaces(generated.resource, generated.operation)
    return action ? profile.grantPlaces(action.resource, action.name) : [`auth.routes.${name}`]
  }
  for (const route of originals) {
    const handlerFor = remember((profile: Profile): Handler => {
      if (!isAllowed(profile, route))
        return ({ identity }) => {
          throw denied(auth, identity)
        }
      const handle = ownRoute(profile, route)?.handle ?? notFound
      const grants = placesOf(profile, route)
      return (context) => {
        const exchange = exchangeOf(context)
        if (exchange) exchange.grants = grants
        return handle(context)
      }
    })
    routes.replace({ ...route, handle: (context) => handlerFor(profiles(context.identity))(context) })
  }
  return remember((profile: Profile) => {
    const own = new RouteTable()
    for (const route of originals) {
      const seen = isAllowed(profile, route) ? ownRoute(profile, route) : undefined
      if (seen) own.add(seen)
    }
    return own
  })
}

/** Passes requests of a handler on if `auth.routes` allows its name there. */
export function guardHandler(
  { auth, profiles }: Pick<Guarding, 'auth' | 'profiles'>,
  name: string,
  handle: Handler,
): Handler {
  const allowed = auth.routes[name] ?? []
  return (context) => {
    if (!profiles(context.identity).isAmong(allowed)) throw denied(auth, context.identity)
    return handle(context)
  }
}

/** The problem for a caller whose request no grant allows. */
export function denied(auth: AuthSpec, identity: Identity | undefined): Problem {
  return identity ? new Problem('forbidden', 'no grant allows this to the caller') : unauthorized(auth)
}
