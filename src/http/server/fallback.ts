import type { IncomingMessage, ServerResponse } from 'node:http'
import { posix } from 'node:path'
import type { Express, Request, RequestHandler, Response } from 'express'
import { fail } from '../../foundation/fail.js'
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
  /** The path of this service, if it is mounted in a server with Express. */
  readonly base: string
  /** Why a mount was skipped. */
  rejected?: Problem
}

type FindPassing = (request: IncomingMessage) => Passing

/**
 * The Express application behind the routes, loaded for the first request that needs it. Mounts that reject a cross-site write or the caller are
 * skipped. If no other mount takes the request it is rejected, but not if nothing is mounted there, because the path may belong to another server.
 */
export function createFallback(mounts: readonly Mount[], checkOrigin: OriginCheck): Fallback {
  const underWay = new WeakMap<IncomingMessage, Passing>()
  let loading: Promise<Express> | undefined
  return (request, response, { take, next, rejects }) => {
    const passing: Passing = { take, rejects, base: (request as Partial<Request>).baseUrl ?? '' }
    underWay.set(request, passing)
    loading ??= load(
      mounts,
      checkOrigin,
      (request) => underWay.get(request) ?? fail('a mount was asked in another way'),
    )
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
  for (const mount of mounts) {
    const { path, listener } = mount
    const below = mounts.filter((other) => other.path !== path && other.path.startsWith(path))
    /** The mount and those below it that a listener may serve by the URL, which a mount before it may have rewritten. */
    const namedIn = ({ baseUrl, url }: Request, { base }: Passing): readonly Mount[] => {
      if (below.length === 0) return [mount]
      const name = namedBy(`${baseUrl}${url}`.slice(base.length))
      return [mount, ...below.filter((other) => name.startsWith(other.path.toLowerCase()))]
    }
    const guard: RequestHandler = (request, _response, next) => {
      const passing = find(request)
      const named = namedIn(request, passing)
      const isOpen = named.every(({ crossSite }) => crossSite === true)
      const rejections = () => named.flatMap((each) => passing.rejects?.(each.path) ?? [])
      const rejected = checkOrigin(request, isOpen) ?? rejections()[0]
      if (!rejected) {
        passing.take()
        return next()
      }
      passing.rejected = rejected
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
