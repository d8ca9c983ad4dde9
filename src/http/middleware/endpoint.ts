import type { Idempotency } from '../../features/idempotency.js'
import type { TransactionOptions } from '../../db/database.js'
import type { Resource } from '../../resource/resource.js'
import type { Hooks } from '../registrations/hooks.js'
import type { Operation } from '../operations/operation.js'
import type { AnyReplacement } from '../registrations/replacement.js'
import type { Context, PlacedMiddleware, Reply } from '../route.js'

/** An operation of a resource at a path, with everything that decides which middleware it needs. */
export interface Endpoint {
  readonly resource: Resource
  readonly operation: Operation
  /** The path of the route, with its parameters. */
  readonly path: string
  /** Whether responses have a body, so that clients must accept JSON. */
  readonly respondsJson: boolean
  /** Whether responses show records of the resource. */
  readonly showsRecords: boolean
  /** Rejects unknown query parameters; undefined if any are accepted. */
  readonly checkQuery: ((search: string) => void) | undefined
  /** Set if requests with `Idempotency-Key` are deduplicated. */
  readonly idempotency: Idempotency | undefined
  /** The code of a plugin that runs in place of the operation. */
  readonly replacement: AnyReplacement | undefined
  /** The transaction that the operation or its hooks need; undefined if they need none. */
  readonly transaction: TransactionOptions | undefined
  readonly hooks: readonly Hooks[]
  /** The middleware of plugins, the outermost first. */
  readonly middleware?: readonly PlacedMiddleware[]
}

/** One step in the processing of a request. `input` is the parsed request; undefined until it is parsed. */
export type Step = (context: Context, input?: object) => Reply | Promise<Reply>

/** Wraps the next step. Returns `next` itself if the endpoint does not need the stage, so that it costs nothing. */
export type Stage = (next: Step, endpoint: Endpoint) => Step
