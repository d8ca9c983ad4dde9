import {
  type IndexNeeds,
  isCovered,
  partialIndexes,
  serves,
  servesIgnoringCase,
  servesItems,
  uniformStart,
} from '../../config/indexes/coverage.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { type FeaturePlans, unservedParameters } from '../../features/index.js'
import { parameterOf } from '../../lookups/index.js'
import type { IndexHelp } from '../../lookups/lookup.js'
import { exact } from '../../lookups/exact.js'
import type { ListPlan } from '../plan.js'

/** How an index can help a list. */
export interface IndexAdvice {
  /** Whether a declared index serves it. */
  readonly served: boolean
  /** The fields of an index to declare; empty if one is declared or none would help. */
  readonly fields: readonly string[]
  /** The comparisons that no declarable index serves, such as `title__contains` of a text. */
  readonly unserved: readonly string[]
  /** The fields that need an index with `ignore_case`. */
  readonly ignoreCase: readonly string[]
  /** The fields that need an index with `using: gin`. */
  readonly gin: readonly string[]
}

/** Recommends an index with which PostgreSQL finds the first row of a list immediately: the fields compared for equality, then a range or the order. */
export function adviseIndex(
  model: ModelSpec,
  plan: Readonly<FeaturePlans> & Pick<ListPlan, 'where' | 'order'>,
): IndexAdvice {
  const { order } = plan
  // Conditions on related records use indexes of other tables.
  const where = plan.where.filter(({ related }) => related === undefined)
  const needs = needsOf(where, order)
  const served =
    isCovered(model, needs) ||
    partialIndexes(model, where).some(({ index, rest }) => serves(index, needsOf(rest, order)))
  const fields: readonly FieldSpec[] = [...new Set([...needs.equal, ...needs.order.map(({ field }) => field)])]
  const neededBy = (help: IndexHelp) => where.filter(({ field, lookup }) => lookup.index(field) === help)
  const namesOf = (help: IndexHelp, isServed: (model: ModelSpec, field: FieldSpec) => boolean) => [
    ...new Set(neededBy(help).flatMap(({ field }) => (isServed(model, field) ? [] : [field.name]))),
  ]
  return {
    served,
    fields: served ? [] : fields.map(({ name }) => name),
    unserved: [
      ...neededBy('none').map(({ field, lookup }) => parameterOf(field.name, lookup)),
      ...unservedParameters(plan),
    ],
    ignoreCase: namesOf('ignore_case', servesIgnoringCase),
    gin: namesOf('gin', servesItems),
  }
}

/** The fields that conditions compare for equality, then a range or the order. */
function needsOf(where: ListPlan['where'], order: ListPlan['order']): IndexNeeds {
  const helped = where.filter(({ field, lookup }) => lookup.index(field) === 'needed')
  const equal = [...new Set(helped.filter(({ lookup }) => lookup === exact).map(({ field }) => field))]
  const range = helped.find(({ lookup }) => lookup !== exact)?.field
  const start = uniformStart(order)
  return {
    equal,
    order: range === undefined || range === start[0]?.field ? start : [{ field: range, descending: false }],
  }
}
