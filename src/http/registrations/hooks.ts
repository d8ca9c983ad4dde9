import type { TransactionOptions } from '../../db/database.js'
import type { Id, Row } from '../../resource/plan.js'
import type { HookChangeOf, IdOf, RecordOf, WriteOf } from '../../resource/typed.js'
import { exchangeOf, type PluginCode } from '../server/exchange.js'
import type { Context, FindPlace, Transaction } from '../route.js'

/** A hook's return value: values to change, which are validated again, or nothing. */
type HookResult<Change> = Change | void | Promise<Change | void>
type MaybePromise = void | Promise<void>

interface Before<Values> {
  /** The transaction of the write. Writes through its stores run no hooks. */
  readonly context: Transaction
  /** The values about to be stored, by field name; for an update, only the fields that it sets. */
  readonly values: Readonly<Values>
}

interface Written<Stored, Key> {
  readonly context: Transaction
  readonly id: Key
  /** The record as stored, including private fields. */
  readonly record: Readonly<Stored>
}

/** A committed write. */
export interface Committed<Stored, Key = Id> {
  /** A context outside the transaction, which has ended. */
  readonly context: Context
  readonly operation: 'create' | 'update' | 'destroy'
  readonly id: Key
  /** The record as stored; for `destroy`, its last state. */
  readonly record: Readonly<Stored>
  /** The record before an update; undefined for `create` and `destroy`. */
  readonly previous: Readonly<Stored> | undefined
}

/**
 * Functions that run around the writes of a resource's generated operations. All except `afterCommit` run in the transaction of the write: an error
 * rolls it back and becomes the response. PUT and PATCH are both updates. If a transaction is run again, its hooks are too.
 */
export interface Hooks<Stored = Row, Key = Id, Change = Partial<Stored>, Values = Partial<Stored>> {
  beforeCreate?(write: Before<Values>): HookResult<Change>
  afterCreate?(write: Written<Stored, Key>): MaybePromise
  /** `record` is the stored record, which is locked. */
  beforeUpdate?(write: Before<Values> & Written<Stored, Key>): HookResult<Change>
  afterUpdate?(write: Written<Stored, Key> & { readonly previous: Readonly<Stored> }): MaybePromise
  beforeDestroy?(write: Written<Stored, Key>): MaybePromise
  afterDestroy?(write: Written<Stored, Key>): MaybePromise
  /** The isolation of the transactions of the writes; the default is read committed. Decisions based on reads are safe only in `serializable`. */
  readonly isolation?: 'serializable'
  /** Runs after the commit and after the response. It cannot undo anything; errors are logged. */
  afterCommit?(write: Committed<Stored, Key>): MaybePromise
}

/** The hooks of a resource with generated types, unless the plugin states `Stored` itself. */
export type HooksOf<Name, Stored> = [Stored] extends [never]
  ? Hooks<RecordOf<Name>, IdOf<Name>, HookChangeOf<Name>, WriteOf<Name>>
  : Hooks<Stored>

export const HOOKS = [
  'beforeCreate',
  'afterCreate',
  'beforeUpdate',
  'afterUpdate',
  'beforeDestroy',
  'afterDestroy',
  'afterCommit',
] as const satisfies readonly Exclude<keyof Hooks, 'isolation'>[]

/** Wraps the hooks of a plugin so that the log can name the hook that a request waits for. */
export function named({ hooks, place }: { readonly hooks: Hooks; readonly place: FindPlace }): Hooks {
  const watched = HOOKS.flatMap((hook) => {
    const run = hooks[hook]?.bind(hooks) as ((write: Watched) => unknown) | undefined
    return run ? [[hook, watchCode(run, { hook, place })]] : []
  })
  return { ...(Object.fromEntries(watched) as Hooks), ...(hooks.isolation && { isolation: hooks.isolation }) }
}

interface Watched {
  readonly context: Context
}

function watchCode(run: (write: Watched) => unknown, code: PluginCode) {
  return async (write: Watched): Promise<unknown> => {
    const exchange = exchangeOf(write.context)
    if (!exchange) return run(write)
    exchange.code = code
    const answer = await run(write)
    exchange.code = undefined
    return answer
  }
}

/** The options of the transactions in which these hooks run. */
export function optionsOf(hooks: readonly Hooks[]): TransactionOptions {
  return { isolation: hooks.find(({ isolation }) => isolation !== undefined)?.isolation }
}
