import type { Operation } from '../config/spec.js'
import type { ExportFormat } from '../features/export.js'
import type { Json } from '../foundation/json.js'
import type { JsonBody } from '../foundation/json-body.js'
import type { Problem, ProblemType } from '../foundation/problem.js'
import type { KeyedRequest } from '../db/records/stored-responses.js'
import type { Knex, TransactionOptions } from '../db/database.js'
import type { Models } from '../db/queries/model-types.js'
import type { DocumentStore, RecordStore } from '../db/records/store.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import type { ScopeCondition } from '../resource/scope.js'
import type { RouteArguments, RouteName } from '../resource/typed.js'
import type { ActionDescription } from './registrations/action-description.js'
import type { OperationDescription } from './operation-description.js'
import type { Trace } from './server/trace.js'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** The response of a handler. At most one of `body`, `text` and `stream`. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Serialised as JSON; a bigint keeps its exact digits. */
  readonly body?: unknown
  /** JSON text, as a string or UTF-8 bytes. */
  readonly text?: string | Uint8Array
  /** Text in pieces, JSON unless `headers` say otherwise, written as fast as the client reads. */
  readonly stream?: AsyncIterable<string>
}

export type Handler = (context: Context) => Reply | Promise<Reply>

/** The rules for a request body: its media types and size, and whether it may be empty or an array. */
export interface BodyPolicy {
  /** Media types that are parsed as JSON. Others are rejected as `unsupported_media_type`, and so is a missing Content-Type unless `optional`. */
  readonly mediaTypes: readonly string[]
  /** Whether a request without Content-Type is parsed as JSON. */
  readonly optional: boolean
  /** Whether an empty body is read as `{}`, whatever its media type. */
  readonly blank?: boolean
  /** In bytes; a larger body is rejected as `body_too_large`. */
  readonly limit: number
  /** The maximum number of objects in an array; arrays are rejected by default. */
  readonly items?: number
  /** Set if the array is the only member of a body object: its key. By default, the body itself is the array. */
  readonly within?: string
}

/** A request as handlers see it. Frozen. */
export interface Context {
  readonly method: string
  readonly requestId: string
  /** The trace of the request; undefined if the client sent none and tracing is off. */
  readonly trace: Trace | undefined
  /** Who sent the request; undefined without `auth`, and for callers who have not signed in. */
  readonly identity: Identity | undefined
  /** Path parameters, as they appear in the URL. */
  readonly params: Readonly<Record<string, string>>
  /** The text after `?`, as it appears in the URL. */
  readonly search: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** @throws Problem `unsupported_media_type`, `body_too_large` or `malformed_body` */
  body(policy: BodyPolicy): Promise<JsonBody>
  /** Returns the records of a resource; inside `transaction`, within the transaction. */
  store<Name extends string>(resource: Resource<Name>): RecordStore<Name>
  /**
   * Narrows a resource's model to the rows that meet all conditions, for the rest of this request: for every store obtained afterwards, including in
   * transactions and after-commit tasks. The request can neither see nor write other rows. Conditions add up.
   * @throws Error for an unknown resource, field or lookup, and for a value of the wrong type
   */
  scope(resource: string, conditions: readonly ScopeCondition[]): void
  /** Returns the same records as JSON text in the resource's wire form; a page of records is one array, in UTF-8. */
  documents<Name extends string>(resource: Resource<Name>): DocumentStore<Name>
  /**
   * Knex on the database of this request, for reports and changes that stores cannot express; inside `transaction`, on the connection of the
   * transaction. A query that outlives the request is cancelled, and a database error becomes the problem that a generated operation would respond with. It begins
   * no transactions and does not stream. In a request with a scope its queries are rejected, because SQL cannot be limited to the scope.
   */
  readonly knex: Knex
  /** The same, ignoring the scope of the request: its queries see and change all rows. */
  readonly unscopedKnex: Knex
  /**
   * Objection's model classes, by model name. Their properties are named after columns, and their relations after fields. They use the same
   * connection as `knex`. In a request with a scope, they only read rows in the scope, and writes are rejected.
   */
  readonly models: Models
  /**
   * The same context, acting for the service instead of the caller: its stores, `knex` and `models` see and change all records, whatever `access`
   * allows. A scope still applies to its stores and models.
   */
  readonly service: Context
  /**
   * Commits the changes of `work` when it resolves. Rolls them back when it throws, or when the request times out.
   * @throws Problem `timeout` if the request times out
   */
  transaction<T>(work: (context: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Returns the URL under which the client reaches the service, without a trailing slash. Empty if neither `api.public_url` nor a trusted proxy
   * provides it.
   */
  publicUrl(): string
  /** Returns the path of a named route; undefined if the name is unknown. */
  reverse<Name extends RouteName>(name: Name, ...params: RouteArguments<Name>): string | undefined
}

/** The context inside a transaction: its stores use the transaction. */
export interface Transaction extends Context {
  /** Runs `work` after the commit; never after a rollback. The response does not wait for it, and its errors are logged. */
  afterCommit(work: (context: Context) => unknown): void
  /**
   * Runs `work` once for each key and stores its response in the same transaction. A repeated request gets the stored response, with
   * `Idempotency-Replayed`. Requires a resource with `idempotency`.
   * @throws Problem `request_in_progress`, `idempotency_key_reused`, `conflict` if the rights of the caller have changed
   */
  once(asked: KeyedRequest, work: () => Promise<Reply>): Promise<Reply>
}

/** Converts a problem to a response body, instead of a problem document. */
export type ProblemRenderer = (problem: Problem) => Readonly<Record<string, Json>>

/** Where a plugin registered something: a file, relative to the configuration file, and a line. */
export interface SourceLocation {
  readonly file: string
  readonly line: number
}

/** Finds the place on demand, because that requires reading source maps; undefined if it is unknown. */
export type FindPlace = () => SourceLocation | undefined

/** A generated operation of a resource. */
export interface Generated {
  readonly resource: Resource
  readonly operation: Operation
  /** Whether it applies to several records at once. */
  readonly bulk?: true
  /** Whether it returns partial records on a path of its own. */
  readonly partial?: true
  /** Set if it returns the records of all pages, in this format. */
  readonly exports?: ExportFormat
}

/**
 * A function that surrounds the requests of routes. `next` runs the rest and returns its reply; it rejects with the `Problem` of a rejected request.
 * A middleware that does not call it responds itself.
 */
export type Middleware = (context: Context, next: () => Promise<Reply>) => Reply | Promise<Reply>

/** A middleware of a plugin, with the place of its registration. */
export interface PlacedMiddleware {
  readonly middleware: Middleware
  readonly place: FindPlace
}

/** One method on one path. Generated and hand-written routes look the same from here on. */
export interface Route {
  readonly name: string
  readonly method: Method
  /** Literal segments and `{parameter}`s, with a slash at both ends: `/api/books/{id}/`. */
  readonly path: string
  readonly handle: Handler
  /** Who registered it, for messages: `resource book`, `plugin ./plugins/orders.ts`. */
  readonly source: string
  /** The dialect of a generated route; absent for the default one. */
  readonly dialect?: string
  /** What `OPTIONS` on the path returns besides `Allow`. */
  readonly options?: RouteOptions | undefined
  /** Set for actions. */
  readonly action?: ActionDescription
  /** Where a plugin registered it. */
  readonly place?: FindPlace
  /** Where plugins registered its hooks. */
  readonly hooks?: readonly FindPlace[]
  /** Where plugins registered its middleware. */
  readonly uses?: readonly FindPlace[]
  /** The problems that this middleware rejects requests with, as declared by plugins. */
  readonly problems?: readonly ProblemType[]
  /** Compiles the handler again, with the middleware of plugins among that of the framework. */
  readonly compile?: (middleware: readonly PlacedMiddleware[]) => Handler
  /** Where plugins registered its computed fields. */
  readonly computed?: readonly FindPlace[]
  /** Whether pages of other sites may write to it. */
  readonly crossSite?: boolean | undefined
  /** The description by the author of the route. */
  readonly operation?: OperationDescription | undefined
  /** Set for generated operations. */
  readonly generated?: Generated
}

/** Returns the resource of a route that the framework handles; undefined for routes that a plugin handles or replaces. */
export function resourceAt({ generated, place }: Route): Resource | undefined {
  return place === undefined ? generated?.resource : undefined
}

/** Which sites may write to routes and mounts of a plugin. */
export interface SiteOptions {
  /** Whether pages of other sites may write, as when a login or payment provider sends its result by a form. */
  readonly crossSite?: boolean
}

export interface RouteOptions {
  readonly headers: Readonly<Record<string, string>>
  describe(): Json
}
