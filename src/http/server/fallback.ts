import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { Problem } from '../../problem.js'
import type { FindForeign } from '../origin-check.js'
import type { MountListener, Next } from '../plugin.js'

/** Everything at `path` and below it that no route takes. */
export interface Mount {
  readonly path: string
  readonly listener: MountListener
  /** Whether pages of other sites may write there. */
  readonly crossSite?: boolean | undefined
}

interface Ways {
  /** Called before the first listener that is given the request. */
  readonly take: () => void
  /** Called when no listener answers the request, or with what one threw. */
  readonly next: Next
}

/** Hands a request to what is mounted. */
export type Fallback = (request: IncomingMessage, response: ServerResponse, ways: Ways) => void

/** A request on its way through the mounts. */
interface Passing extends Pick<Ways, 'take'> {
  /** Why a mount was passed over. */
  refused?: Problem
}

type FindPassing = (request: IncomingMessage) => Passing | undefined

/**
 * The Express application behind the routes. Express is loaded for the first request that needs it. A mount that a foreign request may not
 * write to is passed over. If no other takes the request, it is refused; where nothing is mounted it is not, because the path may be another
 * server's.
 */
export function createFallback(mounts: readonly Mount[], findForeign: FindForeign): Fallback {
  const underWay = new WeakMap<IncomingMessage, Passing>()
  let loading: Promise<Express> | undefined
  return (request, response, { take, next }) => {
    const passing: Passing = { take }
    underWay.set(request, passing)
    loading ??= load(mounts, findForeign, (request) => underWay.get(request))
    // Express makes its own request and response of Node's.
    loading
      .then((app) => app(request as Request, response as Response, (error) => next(error ?? passing.refused)))
      .catch(next)
  }
}

async function load(mounts: readonly Mount[], findForeign: FindForeign, find: FindPassing): Promise<Express> {
  const { default: express } = await import('express')
  const create = () => express().disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  const app = create()
  for (const { path, listener, crossSite } of mounts) {
    const guard: RequestHandler = (request, _response, next) => {
      const passing = find(request)
      const foreign = findForeign(request, crossSite)
      if (!foreign) {
        passing?.take()
        return next()
      }
      if (passing) passing.refused = foreign
      next('router')
    }
    // In an application of its own, which the guard can leave.
    app.use(toPattern(path), create().use(guard, listener as RequestHandler))
  }
  return app
}

/** The path, with the characters escaped that are Express's pattern language. */
function toPattern(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).replace(/[{}()[\]+?!:*\\]/g, '\\$&') || '/'
}
