import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { MountListener, Next } from './plugin.js'

/** Everything at `path` and below it that no route takes. */
export interface Mount {
  readonly path: string
  readonly listener: MountListener
}

/** Hands a request to what is mounted; `next` is called when nothing there takes it, or with what it threw. */
export type Fallback = (request: IncomingMessage, response: ServerResponse, next: Next) => void

/** The Express application behind the routes. Express is loaded for the first request that needs it. */
export function createFallback(mounts: readonly Mount[]): Fallback {
  let loading: Promise<Express> | undefined
  return (request, response, next) => {
    loading ??= load(mounts)
    // Express makes its own request and response of Node's.
    loading.then((app) => app(request as Request, response as Response, next)).catch(next)
  }
}

async function load(mounts: readonly Mount[]): Promise<Express> {
  const { default: express } = await import('express')
  const app = express()
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  for (const { path, listener } of mounts) app.use(toPattern(path), listener as RequestHandler)
  return app
}

/** The path, with the characters escaped that are Express's pattern language. */
function toPattern(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).replace(/[{}()[\]+?!:*\\]/g, '\\$&') || '/'
}
