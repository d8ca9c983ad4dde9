import type { TransactionOptions } from '../../db/database.js'
import type { BodyPolicy, Context, Method, Reply } from '../route.js'

/** An operation that clients can perform on a resource, in three parts. */
export interface Operation<Input extends object = object, Result = unknown> {
  readonly name: string
  readonly method: Method
  readonly on: 'collection' | 'item'
  /** The media type of responses, if it is not JSON. */
  readonly mediaType?: string
  /** How the body is parsed; undefined if the operation has none. */
  readonly body?: BodyPolicy | undefined
  /** The transaction that `run` and `reply` need; absent if `run` needs none or starts its own. */
  readonly transaction?: TransactionOptions | undefined
  /** Parses and validates the request without the database. All errors of the client are reported here. */
  read(context: Context): Input | Promise<Input>
  /** Queries the database. Hooks surround this part, and replacements replace it. */
  run(input: Input, context: Context): Promise<Result>
  /** Builds the response. */
  reply(result: Result, context: Context, input: Input): Reply
}
