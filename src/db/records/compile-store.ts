import type { AppSpec, FieldSpec } from '../../config/spec.js'
import { remember } from '../../foundation/remember.js'
import { compileLimitedPlans, type LimitedPlans } from '../../resource/lists/limited-plans.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Lockable } from '../driver/lockable.js'
import type { Connection } from '../database.js'
import { createEstimates } from '../statements/lists/count.js'
import type { Projection } from '../statements/projections.js'
import type { StatementCounts } from '../statements/prepared-statements.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { compileStatements } from '../statements/statements.js'
import { constraintErrorsOf, referrersOf } from './guards.js'
import { type Bounded, type Store, withoutKey } from './store.js'
import type { SkippedRows } from './skipped-rows.js'
import { listsOn } from './store-lists.js'
import { createsOn, recordsOn } from './store-records.js'
import { senderOn } from './store-sender.js'
import { watchUnfilled } from '../statements/write-columns.js'

/** The parts of the application that the stores of a resource share. */
export interface StoreParts {
  readonly counts: StatementCounts
  readonly spec: AppSpec
  readonly skipped: SkippedRows
}

/** How the records of a resource leave the database. */
export interface Projections<Item, Items> {
  readonly projection: Projection<Item, Items>
  /** The projection of lists. */
  readonly listed: Projection<Item, Items>
}

/**
 * Compiles the statements of a resource. Returns a function that takes a connection, and returns a function that takes bounds, if any, and returns
 * the store within them.
 */
export function compileStore<Item, Items>(
  resource: Resource,
  { projection, listed }: Projections<Item, Items>,
  { counts, spec, skipped }: StoreParts,
): (connection: Connection) => (bounds?: Bounds) => Store<Item, Items> {
  const { selectable } = resource
  const { model } = resource.spec
  const statements = compileStatements(model, { projection, listed }, counts)
  const uncounted = remember((plan: ListPlan): ListPlan => ({ ...plan, total: 'none' }))
  const exactly = remember((plan: ListPlan): ListPlan => ({ ...plan, total: 'exact' }))
  const constraintErrors = constraintErrorsOf(model, spec.models, {
    isHidden: hiddenFrom(resource),
    checkedColumns: (constraint) => skipped.checkedColumns(model, constraint),
  })
  const referrers = referrersOf(spec, model)
  const estimates = createEstimates()
  const lockable: Lockable = {}
  const unfilled = watchUnfilled(model, counts)
  const limits = resource.access && compileLimitedPlans(resource.spec, resource.access)
  return (connection) => {
    const sender = senderOn(connection, {
      model,
      lockable,
      onUnforeseen: () => skipped.doubt(model),
      constraintErrors,
      // Does not mention rows that the request may not see.
      referrers: (bounds) => (bounds ? referrersOf(spec, model, bounds) : referrers),
    })
    const bound = { model, projection, statements, sender, selectable }
    const operations = {
      ...listsOn({ ...bound, projection: listed, estimates, uncounted, exactly, connection }),
      ...createsOn({ ...bound, skipped, unfilled, connection }),
      ...recordsOn({ ...bound, skipped, connection }),
    }
    const limitedOperations = limits ? limited(operations, limits) : operations
    return (bounds) => {
      const store = within(limitedOperations, bounds)
      return model.key.length === 0 ? { ...store, ...withoutKey<Item, Items>(model) } : store
    }
  }
}

/** Operations for callers who see a part of the resource. */
function limited<Item, Items>(
  operations: Bounded<Store<Item, Items>>,
  { list, selection }: LimitedPlans,
): Bounded<Store<Item, Items>> {
  return {
    ...operations,
    list: async (bounds, plan) => operations.list(bounds, list(plan)),
    retrieve: async (bounds, id, asked) => operations.retrieve(bounds, id, asked && selection(asked)),
  }
}

/** The fields that the callers of a resource neither see nor set. */
function hiddenFrom({ shown, sendable }: Resource): ((field: FieldSpec) => boolean) | undefined {
  if (sendable === undefined) return undefined
  const known = [...shown, ...sendable.create.fields, ...sendable.change.fields]
  return (field) => !known.includes(field)
}

/** Written out, because it runs for every request of a caller whom grants limit. */
function within<Item, Items>(operations: Bounded<Store<Item, Items>>, bounds: Bounds | undefined): Store<Item, Items> {
  return {
    list: (plan) => operations.list(bounds, plan),
    batches: (size) => operations.batches(bounds, size),
    retrieve: (id, selection) => operations.retrieve(bounds, id, selection),
    lock: (id, only) => operations.lock(bounds, id, only),
    mayRun: (action, id) => operations.mayRun(bounds, action, id),
    covering: (grants, id) => operations.covering(bounds, grants, id),
    create: (row) => operations.create(bounds, row),
    createMany: (rows) => operations.createMany(bounds, rows),
    retrieveMany: (ids) => operations.retrieveMany(bounds, ids),
    lockMany: (ids) => operations.lockMany(bounds, ids),
    destroyMany: (ids) => operations.destroyMany(bounds, ids),
    update: (id, row, only) => operations.update(bounds, id, row, only),
    destroy: (id, only) => operations.destroy(bounds, id, only),
    take: (id, only) => operations.take(bounds, id, only),
  }
}
