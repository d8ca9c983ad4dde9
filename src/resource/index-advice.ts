import { isCovered, uniformStart } from '../config/indexes/coverage.js'
import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { parameterOf } from '../lookups/index.js'
import { exact } from '../lookups/exact.js'
import type { ListPlan } from './plan.js'

/** What an index can do for one list. */
export interface IndexAdvice {
  /** Whether an index that is declared serves it. */
  readonly served: boolean
  /** The names of the fields of the index to declare; none when one is declared, or none could help. */
  readonly fields: readonly string[]
  /** The comparisons that no index which can be declared serves: `title__contains`. */
  readonly unserved: readonly string[]
}

/** The index that gives a list its first row at once: what is equal, then a range, or else the order. */
export function adviseIndex(
  model: ModelSpec,
  { where, search, order }: Pick<ListPlan, 'where' | 'search' | 'order'>,
): IndexAdvice {
  const helped = where.filter(({ field, lookup }) => lookup.index(field) === 'needed')
  const equal = [...new Set(helped.filter(({ lookup }) => lookup === exact).map(({ field }) => field))]
  const range = helped.find(({ lookup }) => lookup !== exact)?.field
  const start = uniformStart(order)
  const wanted = range === undefined || range === start[0]?.field ? start : [{ field: range, descending: false }]
  const served = isCovered(model, { equal, order: wanted })
  const fields: readonly FieldSpec[] = [...new Set([...equal, ...wanted.map(({ field }) => field)])]
  const unserved = where.filter(({ field, lookup }) => lookup.index(field) === 'none')
  return {
    served,
    fields: served ? [] : fields.map(({ name }) => name),
    unserved: [...unserved.map(({ field, lookup }) => parameterOf(field.name, lookup)), ...(search ? ['search'] : [])],
  }
}
