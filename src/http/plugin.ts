import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Operation } from '../config/spec.js'
import type { Json, JsonSchema } from '../json.js'
import type { ComputationOf } from '../resource/computed.js'
import type { Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { ComputedName, IdOf, RecordOf, ResourceName } from '../resource/typed.js'
import type { Action } from './action.js'
import type { HooksOf } from './hooks.js'
import type { UseOptions, UseTarget } from './middleware/use.js'
import type { OperationDescription } from './operation-description.js'
import type { Replacement } from './replacement.js'
import type { Handler, Method, Middleware, ProblemRenderer, SiteOptions } from './route.js'
import type { Value } from './request-value.js'

export type Next = (error?: unknown) => void

/**
 * A node listener, an Express application or an Express router. It is spelled as a method, because a method may take
 * Express's own request, which is a kind of Node's.
 */
export type MountListener = {
  listen(request: IncomingMessage, response: ServerResponse, next: Next): unknown
}['listen']

/** A record of a resource whose types are written, unless its plugin says itself what is `Stored`. */
type StoredAs<Name, Stored> = [Stored] extends [never] ? RecordOf<Name> : Stored

/** What a plugin is given, once, before the application serves. */
export interface PluginApp {
  /** @throws Error naming the nearest resource when there is none of that name */
  resource<Name extends ResourceName>(name: Name): Resource<Name>
  /** The value of `settings.<name>`, which the plugin declares by calling this. */
  setting<Value extends Json>(name: string, schema: JsonSchema, fallback: Value): Value
  /** `path` is relative to the API's prefix; `operation` is what the OpenAPI document says of the route. */
  route(
    method: Method,
    path: string,
    name: string,
    handle: Handler,
    operation?: OperationDescription,
    options?: SiteOptions,
  ): void
  /** Adds the route `<resource>-<name>`, at `<name>/` below a record or the resource, whose input and output are checked. */
  action<
    Input extends object = Row,
    Output = unknown,
    Stored extends object = never,
    Name extends ResourceName = ResourceName,
  >(resource: Name, name: string, action: Action<Input, Output, StoredAs<Name, NoInfer<Stored>>, IdOf<Name>>): void
  /**
   * Answers one generated operation of a resource by hand. It keeps its name and path, and only requests that have passed its checks arrive.
   */
  replace<Replaced extends Operation, Name extends ResourceName = ResourceName>(
    resource: Name,
    operation: Replaced,
    replacement: Replacement<Replaced, Name>,
  ): void
  /** Runs these functions around the writes of the generated operations of a resource, after those of earlier calls. */
  hooks<Stored extends object = never, Name extends ResourceName = ResourceName>(
    resource: Name,
    hooks: HooksOf<Name, NoInfer<Stored>>,
  ): void
  /**
   * Makes a field of answers that the resource declares under `computed`, for each record anew: it must be quick, and answer at once. It is given
   * the stored fields that the declaration names.
   */
  compute<
    Stored extends object = never,
    Name extends ResourceName = ResourceName,
    Field extends ComputedName<Name> = ComputedName<Name>,
  >(resource: Name, field: Field, compute: ComputationOf<Name, Field, NoInfer<Stored>>): void
  /** Every problem at `path` and below it is answered as `application/json` in the shape that `render` gives; `schema` is what documents say of it. */
  problems(path: string, render: ProblemRenderer, schema?: JsonSchema): void
  /**
   * Surrounds the requests of every route with a middleware, or of the routes at a path (relative to the API's prefix) and below it, or of
   * the routes of a resource. The first registered is the outermost. `check` reports a path or a resource without routes.
   */
  use(middleware: Middleware, options?: UseOptions): void
  use(target: UseTarget, middleware: Middleware, options?: UseOptions): void
  /** Makes a value that middleware sets for a request and its handlers read; `name` appears in messages. */
  value<Type>(name: string): Value<Type>
  /**
   * Hands the requests at `path` (from the root) and below it that no route takes to an Express router or a node listener: all of them, except
   * writes of other sites, unless `options` say `crossSite`, and requests for an unknown host.
   */
  mount(path: string, listener: MountListener, options?: SiteOptions): void
  /**
   * Runs `work` when the service stops, while the database is still open, or serves a newer version of its files: after the last request, with its
   * handler, stream and what follows its commits, or after the 10 s of a stop or 10 minutes of a newer version. If this version is never served,
   * it runs at once. What plugins do then may take 2 s in all.
   */
  onClose(work: () => unknown): void
}

/** The default export of a plugin module. */
export type Plugin = (app: PluginApp) => void
