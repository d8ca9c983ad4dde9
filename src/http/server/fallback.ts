import type { IncomingMessage, ServerResponse } from 'node:http'
import { posix } from 'node:path'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { Problem } from '../../foundation/problem.js'
import type { OriginCheck } from '../headers/origin-check.js'
import type { MountListener, Next } from '../registrations/plugin.js'

/** A listener for the requests at and below `path` that no route takes. */
export interface Mount {
  readonly path: string
  readonly listener: MountListener
  /** Whether pages of other sites may write there. */
  readonly crossSite?: boolean | undefined
}

interface Ways {
  /** Called before the first listener receives the request. */
  readonly take: () => void
  /** Called if no listener answers the request, or with a listener's error. */
  readonly next: Next
  /** Why the caller may not request the mount at a path; undefined if it may. Mounts below that one are protected from it, too. */
  readonly rejects?: ((path: string) => Problem | undefined) | undefined
}

/** Passes a request to the mounts. */
export type Fallback = (request: IncomingMessage, response: ServerResponse, ways: Ways) => void

/** A request that is passed from mount to mount. */
interface Passing extends Pick<Ways, 'take' | 'rejects'> {
  readonly url: string
  /** Why a mount was skipped. */
  rejected?: Problem
}

type FindPassing = (request: IncomingMessage) => Passing | undefined

/**
 * The Express application behind the routes, loaded for the first request that needs it. Mounts that reject a cross-site write or the caller are
 * skipped. If no other mount takes the request it is rejected, but not if nothing is mounted there, because the path may belong to another server.
 */
export function createFallback(mounts: readonly Mount[], checkOrigin: OriginCheck): Fallback {
  const underWay = new WeakMap<IncomingMessage, Passing>()
  let loading: Promise<Express> | undefined
  return (request, response, { take, next, rejects }) => {
    const passing: Passing = { take, rejects, url: request.url ?? '' }
    underWay.set(request, passing)
    loading ??= load(mounts, checkOrigin, (request) => underWay.get(request))
    // Express replaces the prototypes of Node's request and response.
    loading
      .then((app) => app(request as Request, response as Response, (error) => next(error ?? passing.rejected)))
      .catch(next)
  }
}

async function load(mounts: readonly Mount[], checkOrigin: OriginCheck, find: FindPassing): Promise<Express> {
  const { default: express } = await import('express')
  const create = () => express().disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  const app = create()
  for (const { path, listener, crossSite } of mounts) {
    const below = mounts.map((other) => other.path).filter((other) => other !== path && other.startsWith(path))
    const rejectedBy = ({ rejects, url }: Passing): Problem | undefined => {
      if (!rejects) return undefined
      const named = below.length === 0 ? '' : namedBy(url)
      for (const each of [path, ...below.filter((other) => named.startsWith(other.toLowerCase()))]) {
        const rejected = rejects(each)
        if (rejected) return rejected
      }
      return undefined
    }
    const guard: RequestHandler = (request, _response, next) => {
      const passing = find(request)
      const rejected = checkOrigin(request, crossSite) ?? (passing && rejectedBy(passing))
      if (!rejected) {
        passing?.take()
        return next()
      }
      if (passing) passing.rejected = rejected
      next('router')
    }
    // Each mount has its own application, which the guard can leave.
    app.use(toPattern(path), create().use(guard, listener as RequestHandler))
  }
  return app
}

/** The folder or file that a listener such as `express.static` may find by a URL, whose path may have `%2e`, `//`, `..`, or other case, and end at a `#`. */
function namedBy(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  try {
    return `${posix.normalize(decodeURIComponent(path).replaceAll('\\', '/'))}/`.toLowerCase()
  } catch {
    return `${posix.normalize(path)}/`.toLowerCase()
  }
}

/** Escapes the characters of a path that have a meaning in Express's patterns. */
function toPattern(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).replace(/[{}()[\]+?!:*\\]/g, '\\$&') || '/'
}
