import { totalOrder } from '../../config/indexes/coverage.js'
import type { ExpansionSpec, ResourceSpec } from '../../config/spec.js'
import { nameOfFilter } from '../../features/related-filter.js'
import { Problem } from '../../foundation/problem.js'
import { remember } from '../../foundation/remember.js'
import { type ResourceAccess, visibleRule } from '../access.js'
import type { Condition, ListPlan, Selection } from '../plan.js'
import { quote } from '../query.js'

/** Plans as some callers may use them. */
export interface LimitedPlans {
  /** @throws Problem `invalid_query` for an order, a filter or an expansion by what these callers do not see */
  list(plan: ListPlan): ListPlan
  /** @throws Problem `invalid_query` for an expansion that these callers do not have */
  selection(selection: Selection): Selection
}

/**
 * Limits plans to the part of a resource that callers see, because plugins parse queries by the whole resource. Conditions on fields of the records
 * themselves stay: statements compare only values that records show.
 */
export function compileLimitedPlans(spec: ResourceSpec, access: ResourceAccess): LimitedPlans {
  const { model, filters, orderable, defaultOrder, expand, pagination } = spec
  const relatedOf = new Map(filters.map(({ name, related }) => [name, related]))
  const ordered = new Set([
    ...(pagination.keyed ? model.key : []),
    ...orderable,
    ...defaultOrder.map(({ field }) => field),
  ])
  const seesAll = visibleRule(access.list) === undefined

  const checkOrder = ({ order, distinct }: ListPlan): void => {
    const place = order.findIndex(({ field }) => !ordered.has(field) && field !== distinct)
    if (place < 0) return
    // The end of every order, which makes it total, was not chosen.
    const isTotal = totalOrder(spec, order.slice(0, place)).every(({ field }, at) => order[at]?.field === field)
    if (!isTotal) reject(`order records by ${quote(order[place]?.field.name ?? '')}`)
  }
  const limitCondition = (condition: Condition): Condition => {
    if (condition.related === undefined) return condition
    const name = nameOfFilter(condition)
    return { ...condition, related: relatedOf.get(name) ?? reject(`filter records by ${quote(name)}`) }
  }
  const selection = remember((asked: Selection): Selection => ({ ...asked, expand: limitAll(asked.expand, expand) }))
  return {
    list: remember((plan: ListPlan): ListPlan => {
      checkOrder(plan)
      return {
        ...plan,
        where: plan.where.map(limitCondition),
        ...(plan.selection && { selection: selection(plan.selection) }),
        // An estimate would count hidden records.
        total: plan.total === 'capped' && !seesAll ? 'stepwise' : plan.total,
      }
    }),
    selection,
  }
}

/** The related records of a request, as far as callers see them. */
function limitAll(asked: readonly ExpansionSpec[], own: readonly ExpansionSpec[]): readonly ExpansionSpec[] {
  return asked.map(({ path, expand }) => {
    const found = own.find((each) => each.path === path) ?? reject(`expand ${quote(path)}`)
    return { ...found, expand: limitAll(expand, found.expand) }
  })
}

function reject(use: string): never {
  throw new Problem('invalid_query', `this caller cannot ${use}`)
}
