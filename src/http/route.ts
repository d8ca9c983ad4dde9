import type { Operation } from '../config/spec.js'
import type { Json } from '../json.js'
import type { JsonBody } from '../json-body.js'
import type { Problem, ProblemType } from '../problem.js'
import type { Asked } from '../db/records/answers.js'
import type { TransactionOptions } from '../db/database.js'
import type { DocumentStore, RecordStore } from '../db/records/store.js'
import type { Id, Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { ScopeCondition } from '../resource/scope.js'
import type { RouteArguments, RouteName } from '../resource/typed.js'
import type { ActionDescription } from './action-description.js'
import type { OperationDescription } from './operation-description.js'
import type { Trace } from './server/trace.js'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** What a handler answers. At most one of `body`, `text` and `stream`. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Becomes JSON; a bigint becomes its exact digits. */
  readonly body?: unknown
  /** Is JSON text already, perhaps in UTF-8. */
  readonly text?: string | Uint8Array
  /** JSON text in pieces, written as the client takes them. */
  readonly stream?: AsyncIterable<string>
}

export type Handler = (context: Context) => Reply | Promise<Reply>

/** How a body is judged before it is read as JSON. */
export interface BodyPolicy {
  /** Media types that are JSON here. Others, and none unless `optional`, are the problem `unsupported_media_type`. */
  readonly mediaTypes: readonly string[]
  /** Whether a request without Content-Type is read as JSON. */
  readonly optional: boolean
  /** Whether no body at all is read as `{}`, whatever its media type. */
  readonly blank?: boolean
  /** Bytes; more is the problem `body_too_large`. */
  readonly limit: number
  /** Of how many objects a body may be an array; none when left out. */
  readonly items?: number
  /** The only key of a body that is an object, where that holds the array; left out where the body itself is one. */
  readonly within?: string
}

/** One request, as handlers see it. Frozen. */
export interface Context {
  readonly method: string
  readonly requestId: string
  /** Where the request belongs among those of other services; undefined when its client did not say, and nothing traces it here. */
  readonly trace: Trace | undefined
  /** Path parameters, as they stand in the URL. */
  readonly params: Readonly<Record<string, string>>
  /** What follows `?`, as it stands in the URL. */
  readonly search: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** @throws Problem `unsupported_media_type`, `body_too_large` or `malformed_body` */
  body(policy: BodyPolicy): Promise<JsonBody>
  /** The records of a resource; inside `transaction` those of the transaction. */
  store<Name extends string>(resource: Resource<Name>): RecordStore<Name>
  /**
   * Narrows the records of a resource's model to the rows that meet all conditions, for the rest of this request: every store that is taken
   * afterwards, inside transactions and after commits too. Other rows do not exist for the request, and it can write none. Conditions add up.
   * @throws Error for an unknown resource, field or lookup, and for a value of another type
   */
  scope(resource: string, conditions: readonly ScopeCondition[]): void
  /** The same records as JSON text in the resource's wire form; several are one array, in UTF-8. */
  documents<Name extends string>(resource: Resource<Name>): DocumentStore<Name>
  /**
   * The records with these ids, in their order; a missing one is left out. The relations that are named, by dotted paths
   * between commas (`author.publisher, editor`), hold the related record, or null, in place of its id. However many
   * records there are, it is one statement, and one for each relation.
   * @throws Error naming the nearest relation when there is none of that name
   */
  graph(resource: Resource, ids: readonly Id[], relations: string): Promise<readonly Row[]>
  /**
   * Commits what `work` did when it resolves, and rolls it back when it throws, or when the request has been answered for want of time.
   * @throws Problem `timeout` in that case
   */
  transaction<T>(work: (context: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * The URL under which the client reaches the service, without a slash at the end: a path behind it is a URL. Empty where neither
   * `api.public_url` nor a trusted proxy says it.
   */
  publicUrl(): string
  /** The path of a named route; undefined when there is no such name. */
  reverse<Name extends RouteName>(name: Name, ...params: RouteArguments<Name>): string | undefined
}

/** What `work` of a transaction sees: its records are those of the transaction. */
export interface Transaction extends Context {
  /**
   * Runs `work` after the transaction has been committed, and never when it is rolled back. The answer does not wait for it; what it throws
   * is logged.
   */
  afterCommit(work: (context: Context) => unknown): void
  /**
   * Does `work` once for each key, and keeps its answer with what it did: who asks again with the same request is given that answer, with
   * `Idempotency-Replayed`. There has to be a resource with `idempotency`.
   * @throws Problem `request_in_progress`, `idempotency_key_reused`
   */
  once(asked: Asked, work: () => Promise<Reply>): Promise<Reply>
}

/** Turns a problem into the body of its response, in place of a problem document. */
export type ProblemRenderer = (problem: Problem) => Readonly<Record<string, Json>>

/** Where a plugin registered something: a file, relative to that of the configuration, and its line. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** Tells the place when it is asked, because finding it means reading source maps; undefined when it is not known. */
export type FindPlace = () => Place | undefined

/** The operation of a resource. */
export interface Generated {
  readonly resource: Resource
  readonly operation: Operation
  /** Whether it is done to several records at once. */
  readonly bulk?: true
  /** Whether it answers parts of records alone, on a path of its own. */
  readonly partial?: true
}

/**
 * A function that surrounds the requests of routes. `next` runs the rest and returns its reply; it rejects with the `Problem` of a rejected
 * request. A middleware that does not call it responds itself.
 */
export type Middleware = (context: Context, next: () => Promise<Reply>) => Reply | Promise<Reply>

/** A middleware of a plugin, and the place of its registration. */
export interface PlacedMiddleware {
  readonly middleware: Middleware
  readonly place: FindPlace
}

/** One method on one path. Generated and hand-written routes are alike from here on. */
export interface Route {
  readonly name: string
  readonly method: Method
  /** Literal segments and `{parameter}`s, with a slash at both ends: `/api/books/{id}/`. */
  readonly path: string
  readonly handle: Handler
  /** Who made it, for people: `resource book`, `plugin ./plugins/orders.ts`. */
  readonly source: string
  /** The dialect of a generated route; left out where it is the plain one. */
  readonly dialect?: string
  /** What `OPTIONS` on the path answers besides `Allow`. */
  readonly options?: RouteOptions | undefined
  /** What it does with which resource, when it is an action. */
  readonly action?: ActionDescription
  /** Where it was registered, when a plugin did. */
  readonly place?: FindPlace
  /** Where plugins registered what runs around it. */
  readonly hooks?: readonly FindPlace[]
  /** Where plugins registered its middleware. */
  readonly uses?: readonly FindPlace[]
  /** The problems with which that middleware rejects requests, as far as plugins declare them. */
  readonly problems?: readonly ProblemType[]
  /** Compiles the handler again, with middleware of plugins at its place among that of the framework. */
  readonly compile?: (middleware: readonly PlacedMiddleware[]) => Handler
  /** Where plugins registered what computes fields of its answers. */
  readonly computed?: readonly FindPlace[]
  /** Whether pages of other sites may send it requests that write. */
  readonly crossSite?: boolean | undefined
  /** What it tells its clients, as far as whoever wrote it says. */
  readonly operation?: OperationDescription | undefined
  /** What it does with which resource, when it is a generated one. */
  readonly generated?: Generated
}

/** The resource that answers here by itself; undefined where code of a plugin does. */
export function resourceAt({ generated, place }: Route): Resource | undefined {
  return place === undefined ? generated?.resource : undefined
}

/** Which pages may write to what a plugin serves. */
export interface SiteOptions {
  /** Whether pages of other sites may: for what they are meant to send by a form, such as the answer of a login or a payment. */
  readonly crossSite?: boolean
}

export interface RouteOptions {
  readonly headers: Readonly<Record<string, string>>
  describe(): Json
}
