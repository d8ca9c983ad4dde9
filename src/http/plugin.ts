import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json, JsonSchema } from '../json.js'
import type { Resource } from '../resource/resource.js'
import type { OperationDescription } from './operation.js'
import type { Handler, Method, ProblemRenderer } from './route.js'

export type Next = (error?: unknown) => void

/**
 * A node listener, an Express application or an Express router. It is spelled as a method, because a method may take
 * Express's own request, which is a kind of Node's.
 */
export type MountListener = {
  listen(request: IncomingMessage, response: ServerResponse, next: Next): unknown
}['listen']

/** What a plugin is given, once, before the application serves. */
export interface PluginApp {
  /** @throws Error naming the nearest resource when there is none of that name */
  resource(name: string): Resource
  /** The value of `settings.<name>`, which the plugin declares by calling this. */
  setting<Value extends Json>(name: string, schema: JsonSchema, fallback: Value): Value
  /** `path` is relative to the API's prefix; `operation` is what the OpenAPI document says of the route. */
  route(method: Method, path: string, name: string, handle: Handler, operation?: OperationDescription): void
  /** Every problem at `path` and below it is answered as `application/json` in the shape that `render` gives. */
  problems(path: string, render: ProblemRenderer): void
  /** Hands every request at `path` (from the root) and below it that no route takes to an Express router or a node listener. */
  mount(path: string, listener: MountListener): void
}

/** The default export of a plugin module. */
export type Plugin = (app: PluginApp) => void
