import type { TransactionOptions } from '../../db/database.js'
import type { BodyPolicy, Context, Method, Reply } from '../route.js'

/** One thing that clients can do with a resource, in three parts. */
export interface Operation<Input extends object = object, Result = unknown> {
  readonly name: string
  readonly method: Method
  readonly on: 'collection' | 'item'
  /** How the body is parsed; undefined where the request has none. */
  readonly body?: BodyPolicy | undefined
  /** The transaction that `run` and `reply` need; left out where `run` is one statement, or makes its own. */
  readonly transaction?: TransactionOptions | undefined
  /** Parses and validates the request, without the database. Everything that a client can get wrong fails here. */
  read(context: Context): Input | Promise<Input>
  /** Queries the database. Hooks surround this part, and a replacement replaces it. */
  run(input: Input, context: Context): Promise<Result>
  /** Makes the response. */
  reply(result: Result, context: Context, input: Input): Reply
}
