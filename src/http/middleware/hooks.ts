import { inspect } from 'node:util'
import type { TransactionOptions } from '../../db/database.js'
import type { Store, Stored } from '../../db/records/store.js'
import { notGranted } from '../../db/statements/rules/granted-writes.js'
import { fail } from '../../foundation/fail.js'
import { doAtIndex } from '../../resource/bodies/items.js'
import type { Id, Precondition, Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Committed, Hooks } from '../registrations/hooks.js'
import { deriveContext } from '../registrations/queries.js'
import type { Transaction } from '../route.js'
import { HIDDEN, requireStored } from '../operations/request.js'
import { mergeValues } from './merge-values.js'
import type { Stage } from './endpoint.js'

/** Runs the hooks of a resource around its writes, in order of registration. Endpoints with hooks always have a transaction. */
export const hooks: Stage = (next, { resource, hooks, operation }) => {
  if (hooks.length === 0) return next
  const hooked = { resource, hooks, operation: operation.name }
  return (context, input) => next(withHooks(context as Transaction, hooked), input)
}

interface Hooked {
  readonly resource: Resource
  readonly hooks: readonly Hooks[]
  /** The operation whose grants the caller needs. */
  readonly operation: string
}

function withHooks(context: Transaction, hooked: Hooked): Transaction {
  const { resource } = hooked
  const documents = hookedStore(context, hooked)
  const own: Transaction = deriveContext(context, {
    documents: (asked: Resource) => (asked === resource ? documents : context.documents(asked)),
    transaction: <T>(work: (context: Transaction) => Promise<T>, options?: TransactionOptions) =>
      context.transaction(() => work(own), options),
  })
  return own
}

/** A record that is to be deleted, among others. */
interface Found {
  readonly place: number
  readonly id: Id
  readonly record: Row
}

type Documents = Store<string, Uint8Array>
type Only = readonly Precondition[] | undefined

function hookedStore(context: Transaction, { resource, hooks, operation }: Hooked): Documents {
  const commit = (write: Omit<Committed<Row>, 'context'>) => {
    for (const hook of hooks) {
      if (hook.afterCommit) context.afterCommit((context) => hook.afterCommit?.({ ...write, context }))
    }
  }
  /** Reads the record after the hooks, which may have changed it. */
  const answer = async (id: Id): Promise<string> => {
    const item = await context.documents(resource).retrieve(id)
    if (item === undefined) await requireKept([id])
    return item ?? HIDDEN
  }
  const requireKept = (hidden: readonly Id[]) =>
    requireStored(resource, hidden, context, `a hook of \`${resource.spec.name}\` destroyed the written record`)

  const beforeCreate = async (row: Row): Promise<Row> => {
    let values = row
    for (const hook of hooks) values = changed(resource, values, await hook.beforeCreate?.({ context, values }))
    return values
  }
  const created = async ({ id, item: record }: Stored<Row>): Promise<void> => {
    for (const hook of hooks) await hook.afterCreate?.({ context, id, record })
    commit({ operation: 'create', id, record, previous: undefined })
  }

  /** Checks that a grant covers a locked record, and that the record meets the preconditions. */
  const check = async (id: Id, only: Only): Promise<void> => {
    if (!(await context.store(resource).mayRun(operation, id))) throw notGranted()
    if (only) await context.documents(resource).lock(id, only)
  }

  const beforeDestroy = async (id: Id, only: Only): Promise<Row | undefined> => {
    const record = await context.store(resource).lock(id)
    if (!record) return undefined
    await check(id, only)
    for (const hook of hooks) await hook.beforeDestroy?.({ context, id, record })
    return record
  }
  const afterDestroy = async ({ id, record }: Omit<Found, 'place'>): Promise<void> => {
    for (const hook of hooks) await hook.afterDestroy?.({ context, id, record })
    commit({ operation: 'destroy', id, record, previous: undefined })
  }
  const destroy = async (id: Id, only: Only): Promise<boolean> => {
    const record = await beforeDestroy(id, only)
    if (!record) return false
    const destroyed = await context.store(resource).destroy(id)
    await afterDestroy({ id, record })
    return destroyed
  }

  return {
    ...context.documents(resource),

    async create(row) {
      const made = await context.store(resource).create(await beforeCreate(row))
      await created(made)
      return { id: made.id, item: await answer(made.id) }
    },

    async createMany(rows) {
      const values: Row[] = []
      for (const [place, row] of rows.entries()) values.push(await doAtIndex(place, () => beforeCreate(row)))
      const made = await context.store(resource).createMany(values)
      for (const [place, each] of made.entries()) await doAtIndex(place, () => created(each))
      const answered = await context.documents(resource).retrieveMany(made.map(({ id }) => id))
      const items = new Map(answered.map((each) => [resource.key.text(each.id), each]))
      const found = made.map(({ id }) => items.get(resource.key.text(id)) ?? { id, item: HIDDEN })
      await requireKept(found.flatMap(({ id, item }) => (item === HIDDEN ? [id] : [])))
      return found
    },

    async update(id, row, only) {
      const store = context.store(resource)
      const previous = await store.lock(id)
      if (!previous) return undefined
      await check(id, only)
      const before = { context, id, record: previous }
      let values = row
      for (const hook of hooks) values = changed(resource, values, await hook.beforeUpdate?.({ ...before, values }))
      const record = await store.update(id, values)
      if (!record) return undefined
      for (const hook of hooks) await hook.afterUpdate?.({ context, id, record, previous })
      commit({ operation: 'update', id, record, previous })
      return answer(id)
    },

    destroy,

    async destroyMany(ids) {
      const store = context.store(resource)
      const found: Found[] = []
      for (const [place, id] of ids.entries())
        await doAtIndex(
          place,
          async () => {
            const record = await beforeDestroy(id, undefined)
            if (record) found.push({ place, id, record })
          },
          resource.key.fields,
        )
      const count = await store.destroyMany(ids)
      for (const { place, ...each } of found) await doAtIndex(place, () => afterDestroy(each), resource.key.fields)
      return count
    },

    async take(id, only) {
      const item = await context.documents(resource).lock(id)
      return item !== undefined && (await destroy(id, only)) ? item : undefined
    },
  }
}

/** Validates the values that a hook returned and merges them. */
function changed(resource: Resource, values: Row, change: unknown): Row {
  if (change === undefined) return values
  if (typeof change !== 'object' || change === null || Array.isArray(change)) {
    fail(
      `a hook of \`${resource.spec.name}\` returned ${inspect(change)}; it must return the values to change, or nothing`,
    )
  }
  return mergeValues(resource, values, change)
}
