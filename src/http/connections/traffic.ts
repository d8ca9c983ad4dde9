import type { Route } from '../route.js'

/** Upper bounds of the duration histogram, in ms. */
export const DURATIONS: readonly number[] = Object.freeze([
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000,
])

/** The requests of one route with one class of status. */
export interface Tally {
  /** `2xx`, or `none` if the client left before the response. */
  readonly status: string
  /** Counts by the bounds of `DURATIONS`; the last one is for longer requests. */
  readonly durations: number[]
  /** The total time in ms. */
  time: number
}

/** The result of authorization: 401 is `unauthenticated`, 403 `forbidden`, any other status `allowed`. */
type AccessOutcome = 'allowed' | 'unauthenticated' | 'forbidden'

/** The requests of one route; undefined for requests without a route. */
export interface RouteTraffic {
  readonly route: Pick<Route, 'method' | 'name'> | undefined
  readonly tallies: readonly (Tally | undefined)[]
  /** Requests by the result of authorization; zeros without `auth`. */
  readonly access: Readonly<Record<AccessOutcome, number>>
  /** Counts a finished request. `status` is undefined if no response was begun. */
  count(status: number | undefined, milliseconds: number): void
  /** Counts it by what became of the caller's right to make it. */
  countAccess(status: number | undefined): void
}

/** Request statistics. Counting only increments numbers; names are resolved when metrics are read. */
export interface Traffic {
  /** Requests in progress. */
  open: number
  /** Writes that passed validation and were rejected by the database. */
  gaps: number
  of(route: Route | undefined): RouteTraffic
  /** The statistics of all routes that were requested. */
  routes(): Iterable<RouteTraffic>
}

export function createTraffic(): Traffic {
  const named = new Map<string, RouteTraffic>()
  // Weak, because a reload replaces all routes, and each refers to the whole version that it belongs to.
  const known = new WeakMap<Route, RouteTraffic>()
  const take = (name: string, route: RouteTraffic['route']): RouteTraffic => {
    const found = named.get(name) ?? routeTraffic(route)
    named.set(name, found)
    return found
  }
  return {
    open: 0,
    gaps: 0,
    of(route) {
      if (route === undefined) return take('', undefined)
      const { method, name } = route
      const found = known.get(route) ?? take(`${method} ${name}`, { method, name })
      known.set(route, found)
      return found
    },
    routes: () => named.values(),
  }
}

function routeTraffic(route: RouteTraffic['route']): RouteTraffic {
  const tallies: (Tally | undefined)[] = [undefined, undefined, undefined, undefined, undefined, undefined]
  const access = { allowed: 0, unauthenticated: 0, forbidden: 0 }
  return {
    route,
    tallies,
    access,
    countAccess: (status) => void (access[outcomeOf(status)] += 1),
    count(status, milliseconds) {
      const family = status === undefined ? 0 : Math.trunc(status / 100)
      const tally = (tallies[family] ??= newTally(family))
      let at = 0
      while (at < DURATIONS.length && milliseconds > (DURATIONS[at] ?? 0)) at += 1
      tally.durations[at] = (tally.durations[at] ?? 0) + 1
      tally.time += milliseconds
    },
  }
}

function outcomeOf(status: number | undefined): AccessOutcome {
  if (status === 401) return 'unauthenticated'
  return status === 403 ? 'forbidden' : 'allowed'
}

function newTally(family: number): Tally {
  return { status: family === 0 ? 'none' : `${family}xx`, durations: Array(DURATIONS.length + 1).fill(0), time: 0 }
}
