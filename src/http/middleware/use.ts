import type { ProblemType } from '../../foundation/problem.js'
import type { Resource } from '../../resource/resource.js'
import type { ResourceName } from '../../resource/typed.js'
import type { Middleware, PlacedMiddleware, Route } from '../route.js'
import { type RouteTable, splitPath } from '../route-table.js'
import { surroundHandler } from './plugins.js'

/** The routes that a middleware applies to: routes at and below a path, or the routes of a resource. */
export type UseTarget = string | { readonly resource: ResourceName }

export interface UseOptions {
  /** The problems with which the middleware rejects requests, for the OpenAPI document. */
  readonly problems?: readonly ProblemType[]
}

export type UseArguments = [Middleware, (UseOptions | undefined)?] | [UseTarget, Middleware, (UseOptions | undefined)?]

/** Normalises the arguments of `use`; without a target, the middleware applies to every route. */
export function withTarget(given: UseArguments): readonly [UseTarget | undefined, Middleware, UseOptions] {
  if (typeof given[0] === 'function') return [undefined, given[0], (given[1] ?? {}) as UseOptions]
  return [given[0], given[1] as Middleware, given[2] ?? {}]
}

/** A registration by `use`. */
export interface Use extends PlacedMiddleware {
  /** The plugin that registered it. */
  readonly source: string
  /** An absolute path; undefined for every path. */
  readonly path: string | undefined
  /** The resource and its mounts; undefined for every resource. */
  readonly resources: readonly Resource[] | undefined
  readonly problems: readonly ProblemType[]
}

/** Adds the middleware of plugins to the routes that it applies to. */
export function applyUses(routes: RouteTable, uses: readonly Use[]): void {
  if (uses.length === 0) return
  for (const route of [...routes]) {
    const own = uses.filter((use) => covers(use, route))
    if (own.length > 0) routes.replace(withMiddleware(route, own))
  }
}

/** Returns the registrations whose path or resource has no routes. */
export function withoutRoutes(routes: RouteTable, uses: readonly Use[]): readonly Use[] {
  const all = [...routes]
  return uses.filter((use) => !isGlobal(use) && !all.some((route) => covers(use, route)))
}

/** Whether the middleware applies to every route. */
export function isGlobal({ path, resources }: Use): boolean {
  return path === undefined && resources === undefined
}

/** A route with the middleware that applies to another one. */
export function withUsesOf(route: Route, like: Route, uses: readonly Use[]): Route {
  const own = uses.filter((use) => covers(use, like))
  return own.length > 0 ? withMiddleware(route, own) : route
}

function withMiddleware(route: Route, uses: readonly Use[]): Route {
  return {
    ...route,
    handle: route.compile?.(uses) ?? surroundHandler(route.handle, uses),
    uses: uses.map(({ place }) => place),
    problems: [...new Set(uses.flatMap((use) => use.problems))],
  }
}

function covers({ path, resources }: Use, { path: routePath, generated, action }: Route): boolean {
  if (resources) return resources.some((each) => each === generated?.resource || each === action?.resource)
  return path === undefined || isBelow(splitPath(routePath), splitPath(path))
}

/** Path parameters match whatever their names. */
function isBelow(segments: readonly string[], start: readonly string[]): boolean {
  return start.every((segment, index) => {
    const own = segments[index]
    return own === segment || (own?.startsWith('{') === true && segment.startsWith('{'))
  })
}
