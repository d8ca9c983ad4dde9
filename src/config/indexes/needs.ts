import { exact } from '../../lookups/exact.js'
import { totalOrder, uniformStart, type Wanted } from './coverage.js'
import type { FieldSpec, FilterSpec, OrderSpec, ResourceSpec } from '../spec.js'

/** One way in which a resource lets clients read its table, and the index that keeps the table from being read whole. */
export interface Need {
  readonly resource: ResourceSpec
  readonly use: 'orderable' | 'default_order' | 'filterable'
  /** The place in the list under `use`. */
  readonly place: number
  readonly field: FieldSpec
  /** The least that an index has to serve. */
  readonly wanted: Wanted
  /** The fields of the index that serves it best. */
  readonly best: readonly FieldSpec[]
}

/** Everything that the lists of a resource need. A list that is not paged is for tables that stay small, and sorts them. */
export function needsOf(resource: ResourceSpec): readonly Need[] {
  if (!resource.operations.includes('list')) return []
  const { orderable, defaultOrder, filters, pagination } = resource
  const paged = pagination.style.parameters.length > 0
  return [
    ...(paged ? orderable.map((field, place) => ordering(resource, [{ field, descending: false }], { place })) : []),
    ...(paged && defaultOrder.length > 0 ? [ordering(resource, defaultOrder, { use: 'default_order' })] : []),
    ...filters.flatMap((filter, place) => filtering(resource, filter, place)),
  ]
}

function ordering(
  resource: ResourceSpec,
  asked: readonly OrderSpec[],
  { use = 'orderable', place = 0 }: { readonly use?: Need['use']; readonly place?: number },
): Need {
  const order = uniformStart(totalOrder(resource.model, asked))
  const field = order[0]?.field ?? resource.model.primaryKey
  return { resource, use, place, field, wanted: { equal: [], order }, best: order.map((each) => each.field) }
}

function filtering(resource: ResourceSpec, { field, lookups }: FilterSpec, place: number): readonly Need[] {
  if (!lookups.some((lookup) => lookup.index(field) === 'needed')) return []
  const { model, defaultOrder } = resource
  // What an index has after a range is in no order any more; after one value it is.
  const order = lookups.includes(exact) ? uniformStart(totalOrder(model, defaultOrder)) : totalOrder(model, [])
  const after = order.map((each) => each.field).filter((each) => each !== field)
  const wanted = { equal: [field], order: [] }
  return [{ resource, use: 'filterable', place, field, wanted, best: [field, ...after] }]
}

/** The columns by which the lists of a resource find or order rows: an index that starts with another serves none of them. */
export function columnsInUse(resource: ResourceSpec): readonly string[] {
  if (!resource.operations.includes('list')) return []
  const { model, orderable, defaultOrder, filters } = resource
  const filtered = filters.filter(({ field, lookups }) => lookups.some((lookup) => lookup.index(field) !== 'none'))
  const fields = [...orderable, totalOrder(model, defaultOrder)[0]?.field, ...filtered.map(({ field }) => field)]
  return fields.flatMap((field) => field?.column ?? [])
}
