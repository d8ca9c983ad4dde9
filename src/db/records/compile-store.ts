import type { AppSpec } from '../../config/spec.js'
import { remember } from '../../remember.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Connection } from '../database.js'
import { createEstimates } from '../statements/count.js'
import type { Projection } from '../statements/projections.js'
import type { StatementCounts } from '../statements/prepared-statements.js'
import type { Bounds } from '../statements/bounds.js'
import { compileStatements } from '../statements/statements.js'
import { constraintErrorsOf, referrersOf } from './guards.js'
import { rowsPerStatement, type Store } from './store.js'
import { withoutKey } from './keyless.js'
import { listsOn } from './store-lists.js'
import { createsOn, recordsOn } from './store-records.js'
import { senderOn } from './store-sender.js'

interface Surroundings {
  readonly counts: StatementCounts
  readonly spec: AppSpec
}

/** How the records of a resource leave the database. */
export interface Projections<Item, Items> {
  readonly projection: Projection<Item, Items>
  /** The projection of lists. */
  readonly listed: Projection<Item, Items>
}

/** Compiles the statements of a resource. Each call of the result returns its store on one connection, within the given bounds, if any. */
export function compileStore<Item, Items>(
  resource: Resource,
  { projection, listed }: Projections<Item, Items>,
  { counts, spec }: Surroundings,
): (connection: Connection, bounds?: Bounds) => Store<Item, Items> {
  const { model } = resource.spec
  const statements = compileStatements(model, { projection, listed }, counts)
  const uncounted = remember((plan: ListPlan): ListPlan => ({ ...plan, total: 'none' }))
  const constraintErrors = constraintErrorsOf(model, spec.models)
  const referrers = referrersOf(spec, model)
  const estimates = createEstimates()
  const most = rowsPerStatement(model)
  return (connection, bounds) => {
    const sender = senderOn(connection, {
      model,
      constraintErrors,
      // Does not mention rows that the request may not see.
      referrers: () => (bounds ? referrersOf(spec, model, bounds) : referrers),
    })
    const bound = { model, projection, statements: statements(bounds), sender, bounds }
    return {
      ...listsOn({ ...bound, projection: listed, estimates, uncounted, connection }),
      ...createsOn({ ...bound, most }),
      ...recordsOn(bound),
      ...(model.key.length === 0 && withoutKey<Item, Items>(model)),
    }
  }
}
