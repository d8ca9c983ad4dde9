import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FindIdentity } from '../../auth/plugin-identities.js'
import type { FieldDeclarations } from '../../config/parse/lone-fields.js'
import type { Operation } from '../../config/spec.js'
import type { Json, JsonSchema } from '../../foundation/json.js'
import type { ComputationOf } from '../../resource/computed.js'
import type { Resource } from '../../resource/resource.js'
import type { ComputedName, DeclaredValues, IdOf, RecordOf, ResourceName } from '../../resource/typed.js'
import type { Action } from './action.js'
import type { HooksOf } from './hooks.js'
import type { UseOptions, UseTarget } from '../middleware/use.js'
import type { OperationDescription } from '../operation-description.js'
import type { Replacement } from './replacement.js'
import type { Handler, Method, Middleware, ProblemRenderer, SiteOptions } from '../route.js'
import type { Value } from './request-value.js'

export type Next = (error?: unknown) => void

/**
 * A Node listener, an Express application or an Express router. Declared as a method, so that it may take Express's own request, a subtype of Node's.
 */
export type MountListener = {
  listen(request: IncomingMessage, response: ServerResponse, next: Next): unknown
}['listen']

/** A record of a resource with generated types, unless the plugin states `Stored` itself. */
type StoredAs<Name, Stored> = [Stored] extends [never] ? RecordOf<Name> : Stored

/** The values of the declared fields, unless the plugin states `Input` itself. */
type InputAs<Fields extends FieldDeclarations, Input> = [Input] extends [never] ? DeclaredValues<Fields> : Input

/** The API of a plugin, which is called once, before the application serves. */
export interface PluginApp {
  /** @throws Error naming the nearest resource if the name is unknown */
  resource<Name extends ResourceName>(name: Name): Resource<Name>
  /** Declares the setting `settings.<name>` and returns its value. */
  setting<Value extends Json>(name: string, schema: JsonSchema, fallback: Value): Value
  /** Adds a route. `path` is relative to the API's prefix; `operation` describes the route in the OpenAPI document. */
  route(
    method: Method,
    path: string,
    name: string,
    handle: Handler,
    operation?: OperationDescription,
    options?: SiteOptions,
  ): void
  /**
   * Adds the route `<resource>-<name>`, at `<name>/` below a record or the resource. Its input and output are validated. The values of `input` have the
   * types of the declared fields, unless the plugin states `Input` itself.
   */
  action<
    Input extends object = never,
    Output = unknown,
    Stored extends object = never,
    Name extends ResourceName = ResourceName,
    const Fields extends FieldDeclarations = Readonly<Record<never, never>>,
  >(
    resource: Name,
    name: string,
    action: Action<InputAs<Fields, NoInfer<Input>>, Output, StoredAs<Name, NoInfer<Stored>>, IdOf<Name>> & {
      readonly input?: Fields
    },
  ): void
  /** Replaces a generated operation of a resource. The route keeps its name and path, and requests are validated first. */
  replace<Replaced extends Operation, Name extends ResourceName = ResourceName>(
    resource: Name,
    operation: Replaced,
    replacement: Replacement<Replaced, Name>,
  ): void
  /** Runs functions around the writes of a resource's generated operations, after the functions of earlier calls. */
  hooks<Stored extends object = never, Name extends ResourceName = ResourceName>(
    resource: Name,
    hooks: HooksOf<Name, NoInfer<Stored>>,
  ): void
  /**
   * Computes a field that the resource declares under `computed`, for each record of a response. The function receives the fields listed under `from`
   * and must be fast and synchronous.
   */
  compute<
    Stored extends object = never,
    Name extends ResourceName = ResourceName,
    Field extends ComputedName<Name> = ComputedName<Name>,
  >(resource: Name, field: Field, compute: ComputationOf<Name, Field, NoInfer<Stored>>): void
  /** Renders every problem at `path` and below it by `render`, as `application/json`; `schema` describes the result in documents. */
  problems(path: string, render: ProblemRenderer, schema?: JsonSchema): void
  /**
   * Adds middleware to every route, to the routes at and below a path (relative to the API's prefix), or to the routes of a resource. The first
   * registered is the outermost. `check` reports a path or a resource without routes.
   */
  use(middleware: Middleware, options?: UseOptions): void
  use(target: UseTarget, middleware: Middleware, options?: UseOptions): void
  /**
   * Adds a way to sign in. It is tried for requests without a credential of `auth` or of earlier calls. `find` returns
   * undefined if the request has no credential of this kind, and throws a Problem `unauthorized` for a wrong one. `name` is the `method` of the identity.
   */
  authenticate(name: string, find: FindIdentity): void
  /** Creates a value that middleware sets for a request and its handlers read; `name` appears in messages. */
  value<Type>(name: string): Value<Type>
  /**
   * Mounts an Express router or a Node listener at `path` (from the root). It receives the requests that no route takes, except requests for an
   * unknown host, and cross-site writes unless `options.crossSite` is set.
   */
  mount(path: string, listener: MountListener, options?: SiteOptions): void
  /**
   * Runs `work` when the service stops, while the database is still open, or when it has switched to a newer version of its files: after the last
   * request with its handler, stream and after-commit tasks, or after 10 s of a stop or 10 minutes of a newer version. If this version is never
   * served, it runs at once. All such work together may take 2 s.
   */
  onClose(work: () => unknown): void
}

/** The default export of a plugin module. */
export type Plugin = (app: PluginApp) => void
