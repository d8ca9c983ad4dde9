import type { IdempotencySpec } from '../../config/spec.js'
import type { TransactionOptions } from '../../db/database.js'
import type { Resource } from '../../resource/resource.js'
import type { Hooks } from '../hooks.js'
import type { Operation } from '../operations/operation.js'
import type { AnyReplacement } from '../replacement.js'
import type { Context, PlacedMiddleware, Reply } from '../route.js'

/** An operation of a resource at a path, with everything that decides which middleware its requests pass. */
export interface Endpoint {
  readonly resource: Resource
  readonly operation: Operation
  /** The path of the route, with its parameters. */
  readonly path: string
  /** Whether responses have a body, so that clients must accept JSON. */
  readonly respondsJson: boolean
  /** Rejects query parameters that the operation does not have; undefined where it accepts any. */
  readonly checkQuery: ((search: string) => void) | undefined
  /** Set where a request with `Idempotency-Key` is done once. */
  readonly idempotency: IdempotencySpec | undefined
  /** The code of a plugin that runs in place of the operation. */
  readonly replacement: AnyReplacement | undefined
  /** The transaction that the operation or its hooks need; undefined where it runs without one. */
  readonly transaction: TransactionOptions | undefined
  readonly hooks: readonly Hooks[]
  /** The middleware of plugins, the outermost first. */
  readonly middleware?: readonly PlacedMiddleware[]
}

/**
 * One step of a request on its way to the database. `input` is what the operation read of the request; undefined until it is read.
 */
export type Step = (context: Context, input?: object) => Reply | Promise<Reply>

/** Puts a step around the next one. Returns `next` itself where the endpoint does not need the step: then it costs nothing. */
export type Stage = (next: Step, endpoint: Endpoint) => Step
