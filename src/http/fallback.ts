import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { FindForeign } from './foreign.js'
import type { MountListener, Next } from './plugin.js'

/** Everything at `path` and below it that no route takes. */
export interface Mount {
  readonly path: string
  readonly listener: MountListener
  /** Whether pages of other sites may write there. */
  readonly crossSite?: boolean | undefined
}

/** Hands a request to what is mounted; `next` is called when nothing there takes it, or with what it threw. */
export type Fallback = (request: IncomingMessage, response: ServerResponse, next: Next) => void

/**
 * The Express application behind the routes. Express is loaded for the first request that needs it. Foreign requests are refused where
 * something is mounted, and nowhere else: the path may be another server's.
 */
export function createFallback(mounts: readonly Mount[], findForeign: FindForeign): Fallback {
  let loading: Promise<Express> | undefined
  return (request, response, next) => {
    loading ??= load(mounts, findForeign)
    // Express makes its own request and response of Node's.
    loading.then((app) => app(request as Request, response as Response, next)).catch(next)
  }
}

async function load(mounts: readonly Mount[], findForeign: FindForeign): Promise<Express> {
  const { default: express } = await import('express')
  const app = express()
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  for (const { path, listener, crossSite } of mounts) {
    const guard: RequestHandler = (request, _response, next) => next(findForeign(request, crossSite))
    app.use(toPattern(path), guard, listener as RequestHandler)
  }
  return app
}

/** The path, with the characters escaped that are Express's pattern language. */
function toPattern(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).replace(/[{}()[\]+?!:*\\]/g, '\\$&') || '/'
}
