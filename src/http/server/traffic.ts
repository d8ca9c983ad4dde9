import type { Route } from '../route.js'

/** Upper ends of the classes into which durations are counted, in milliseconds. */
export const DURATIONS: readonly number[] = Object.freeze([
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000,
])

/** The requests of one route that were answered with one class of status. */
export interface Tally {
  /** `2xx`, or `none` where the client went before the answer. */
  readonly status: string
  /** How many took so long, by `DURATIONS`; the last is for those that took longer. */
  readonly durations: number[]
  /** Milliseconds of all of them together. */
  time: number
}

/** The requests of one route; undefined is for those that no route takes. */
export interface RouteTraffic {
  readonly route: Route | undefined
  readonly tallies: readonly (Tally | undefined)[]
  /** Counts a request that has ended. `status` is undefined when no answer was begun. */
  count(status: number | undefined, milliseconds: number): void
}

/** What is counted of requests while somebody may ask for it. Counting adds to numbers; nothing is named until somebody asks. */
export interface Traffic {
  /** Requests under way. */
  open: number
  /** Changes that passed the validators and that the database refused all the same. */
  gaps: number
  of(route: Route | undefined): RouteTraffic
  /** Those of all routes that were asked for. */
  routes(): Iterable<RouteTraffic>
}

export function createTraffic(): Traffic {
  const routes = new Map<Route | undefined, RouteTraffic>()
  return {
    open: 0,
    gaps: 0,
    of(route) {
      const known = routes.get(route)
      if (known) return known
      const made = routeTraffic(route)
      routes.set(route, made)
      return made
    },
    routes: () => routes.values(),
  }
}

function routeTraffic(route: Route | undefined): RouteTraffic {
  const tallies: (Tally | undefined)[] = [undefined, undefined, undefined, undefined, undefined, undefined]
  return {
    route,
    tallies,
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

function newTally(family: number): Tally {
  return { status: family === 0 ? 'none' : `${family}xx`, durations: Array(DURATIONS.length + 1).fill(0), time: 0 }
}
