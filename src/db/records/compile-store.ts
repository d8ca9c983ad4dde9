import type { AppSpec } from '../../config/spec.js'
import { remember } from '../../remember.js'
import type { ListPlan, Scopes } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Connection } from '../database.js'
import { createEstimates } from '../statements/count.js'
import type { Projection } from '../statements/projections.js'
import type { StatementCounts } from '../statements/prepared-statements.js'
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

/**
 * Compiles the statements of a resource for one projection. Each call of the result returns its store on one connection, narrowed to the given
 * scopes, if any.
 */
export function compileStore<Item, Items>(
  resource: Resource,
  projection: Projection<Item, Items>,
  { counts, spec }: Surroundings,
): (connection: Connection, scopes?: Scopes) => Store<Item, Items> {
  const { model } = resource.spec
  const statements = compileStatements(model, projection, counts)
  const uncounted = remember((plan: ListPlan): ListPlan => ({ ...plan, total: 'none' }))
  const constraintErrors = constraintErrorsOf(model, spec.models)
  const referrers = referrersOf(spec, model)
  const estimates = createEstimates()
  const most = rowsPerStatement(model)
  return (connection, scopes) => {
    const sender = senderOn(connection, {
      model,
      constraintErrors,
      // Does not mention rows that the request may not see.
      referrers: () => (scopes ? referrersOf(spec, model, scopes) : referrers),
    })
    const bound = { model, projection, statements: statements(scopes), sender, scopes }
    return {
      ...listsOn({ ...bound, estimates, uncounted, connection }),
      ...createsOn({ ...bound, most }),
      ...recordsOn(bound),
      ...(model.key.length === 0 && withoutKey<Item, Items>(model)),
    }
  }
}
