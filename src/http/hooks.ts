import { inspect } from 'node:util'
import { fail } from '../fail.js'
import type { TransactionOptions } from '../db/database.js'
import type { Store, Stored } from '../db/records/store.js'
import { doAt } from '../resource/items.js'
import type { Id, Precondition, Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { HookChangeOf, IdOf, RecordOf, WriteOf } from '../resource/typed.js'
import { exchangeOf, type PluginCode } from './server/exchange.js'
import type { Context, FindPlace, Handler, Transaction } from './route.js'

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

/** A generated handler whose writes run these hooks, in their order. */
export function hooked(handle: Handler, resource: Resource, hooks: readonly Hooks[]): Handler {
  const options = optionsOf(hooks)
  const around = <Given extends Context>(context: Given): Given =>
    Object.freeze({
      ...context,
      documents: (asked: Resource) =>
        asked === resource ? hookedStore(context, resource, { hooks, options }) : context.documents(asked),
      transaction: <T>(work: (context: Transaction) => Promise<T>, wanted?: TransactionOptions) =>
        context.transaction((inside) => work(around(inside)), { ...options, ...wanted }),
    })
  return (context) => handle(around(context))
}

/** The transactions in which these hooks run. */
export function optionsOf(hooks: readonly Hooks[]): TransactionOptions {
  return { isolation: hooks.find(({ isolation }) => isolation !== undefined)?.isolation }
}

type Documents = Store<string, Uint8Array>
type Only = readonly Precondition[] | undefined

interface Around {
  readonly hooks: readonly Hooks[]
  readonly options: TransactionOptions
}

function hookedStore(given: Context, resource: Resource, { hooks, options }: Around): Documents {
  const transaction = <T>(work: (context: Transaction) => Promise<T>) => given.transaction(work, options)
  const commit = (context: Transaction, write: Omit<Committed<Row>, 'context'>) => {
    for (const hook of hooks) {
      if (hook.afterCommit) context.afterCommit((context) => hook.afterCommit?.({ ...write, context }))
    }
  }
  /** Read when the hooks have run, because they may have changed it. */
  const answer = async (context: Transaction, id: Id): Promise<string> =>
    (await context.documents(resource).retrieve(id)) ?? destroyedByHook()
  const destroyedByHook = () => fail(`a hook of \`${resource.spec.name}\` destroyed the record`)

  const beforeCreate = async (context: Transaction, row: Row): Promise<Row> => {
    let values = row
    for (const hook of hooks) values = changed(resource, values, await hook.beforeCreate?.({ context, values }))
    return values
  }
  const created = async (context: Transaction, { id, item: record }: Stored<Row>): Promise<void> => {
    for (const hook of hooks) await hook.afterCreate?.({ context, id, record })
    commit(context, { operation: 'create', id, record, previous: undefined })
  }

  /** Judges preconditions of a record that is locked: a change of no field does nothing else. */
  const judge = async (context: Transaction, id: Id, only: Only): Promise<void> => {
    if (only) await context.documents(resource).update(id, {}, only)
  }

  const destroy = async (context: Transaction, id: Id, only: Only): Promise<boolean> => {
    const store = context.store(resource)
    const record = await store.lock(id)
    if (!record) return false
    await judge(context, id, only)
    for (const hook of hooks) await hook.beforeDestroy?.({ context, id, record })
    const destroyed = await store.destroy(id)
    for (const hook of hooks) await hook.afterDestroy?.({ context, id, record })
    commit(context, { operation: 'destroy', id, record, previous: undefined })
    return destroyed
  }

  return {
    ...given.documents(resource),

    create: (row) =>
      transaction(async (context) => {
        const made = await context.store(resource).create(await beforeCreate(context, row))
        await created(context, made)
        return { id: made.id, item: await answer(context, made.id) }
      }),

    createMany: (rows) =>
      transaction(async (context) => {
        const values: Row[] = []
        for (const [place, row] of rows.entries()) values.push(await doAt(place, () => beforeCreate(context, row)))
        const made = await context.store(resource).createMany(values)
        for (const [place, each] of made.entries()) await doAt(place, () => created(context, each))
        const answered = await context.documents(resource).retrieveMany(made.map(({ id }) => id))
        const items = new Map(answered.map((each) => [String(each.id), each]))
        return made.map(({ id }) => items.get(String(id)) ?? destroyedByHook())
      }),

    update: (id, row, only) =>
      transaction(async (context) => {
        const store = context.store(resource)
        const previous = await store.lock(id)
        if (!previous) return undefined
        await judge(context, id, only)
        const before = { context, id, record: previous }
        let values = row
        for (const hook of hooks) values = changed(resource, values, await hook.beforeUpdate?.({ ...before, values }))
        const record = await store.update(id, values)
        if (!record) return undefined
        for (const hook of hooks) await hook.afterUpdate?.({ context, id, record, previous })
        commit(context, { operation: 'update', id, record, previous })
        return answer(context, id)
      }),

    destroyMany: (ids) =>
      transaction(async (context) => {
        let count = 0
        for (const id of ids) if (await destroy(context, id, undefined)) count += 1
        return count
      }),

    destroy: (id, only) => transaction((context) => destroy(context, id, only)),

    take: (id, only) =>
      transaction(async (context) => {
        const item = await context.documents(resource).lock(id)
        return item !== undefined && (await destroy(context, id, only)) ? item : undefined
      }),
  }
}

/** The values with those that a hook has changed, which are held to the rules. */
function changed(resource: Resource, values: Row, change: unknown): Row {
  if (change === undefined) return values
  if (typeof change !== 'object' || change === null || Array.isArray(change)) {
    fail(
      `a hook of \`${resource.spec.name}\` returned ${inspect(change)}; it must return the values to change, or nothing`,
    )
  }
  const own = Object.entries(change).filter(([name, value]) => value !== undefined && value !== values[name])
  return own.length === 0 ? values : { ...values, ...resource.checkValues(Object.fromEntries(own)) }
}
