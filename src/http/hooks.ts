import type { TransactionOptions } from '../db/database.js'
import type { Id, Row } from '../resource/plan.js'
import type { HookChangeOf, IdOf, RecordOf, WriteOf } from '../resource/typed.js'
import { exchangeOf, type PluginCode } from './server/exchange.js'
import type { Context, FindPlace, Transaction } from './route.js'

/** What a hook answers: values to change, which are checked again, or nothing. */
type Answer<Change> = Change | void | Promise<Change | void>
type Done = void | Promise<void>

interface Before<Values> {
  /** The transaction of the write. Its records are written without hooks. */
  readonly context: Transaction
  /** What is about to be stored, by field name; of a change, only the fields that it sets. */
  readonly values: Readonly<Values>
}

interface Written<Stored, Key> {
  readonly context: Transaction
  readonly id: Key
  /** As it is stored: private fields too. */
  readonly record: Readonly<Stored>
}

/** A write that was committed. */
export interface Committed<Stored, Key = Id> {
  /** Outside of the transaction, which is over. */
  readonly context: Context
  readonly operation: 'create' | 'update' | 'destroy'
  readonly id: Key
  /** As it was stored; what was destroyed, for `destroy`. */
  readonly record: Readonly<Stored>
  /** As it was before a change; undefined for `create` and `destroy`. */
  readonly previous: Readonly<Stored> | undefined
}

/**
 * What runs around the writes of a resource's generated operations, all but the last in the transaction of the write: what one of them throws
 * undoes it and is the answer. PUT and PATCH are both an update. Where a transaction is run again, so are its hooks.
 */
export interface Hooks<Stored = Row, Key = Id, Change = Partial<Stored>, Values = Partial<Stored>> {
  beforeCreate?(write: Before<Values>): Answer<Change>
  afterCreate?(write: Written<Stored, Key>): Done
  /** `record` is what is stored; nobody else changes it meanwhile. */
  beforeUpdate?(write: Before<Values> & Written<Stored, Key>): Answer<Change>
  afterUpdate?(write: Written<Stored, Key> & { readonly previous: Readonly<Stored> }): Done
  beforeDestroy?(write: Written<Stored, Key>): Done
  afterDestroy?(write: Written<Stored, Key>): Done
  /** How the transactions of the writes see others; read committed when left out. What hooks read decides safely only in `serializable`. */
  readonly isolation?: 'serializable'
  /** Runs after the commit, and after the answer. It can undo nothing: what it throws is logged. */
  afterCommit?(write: Committed<Stored, Key>): Done
}

/** The hooks of a resource whose types are written, unless its plugin says itself what is `Stored`. */
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

/** The hooks of a plugin, of which a request knows which one it waits for. */
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

/** The transactions in which these hooks run. */
export function optionsOf(hooks: readonly Hooks[]): TransactionOptions {
  return { isolation: hooks.find(({ isolation }) => isolation !== undefined)?.isolation }
}
