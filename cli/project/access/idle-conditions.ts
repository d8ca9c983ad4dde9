import { callerFor, grantsOf, evaluateRule, nearTo, formatCondition, type StoredRecord } from '../../../src/internal.js'
import type { Application } from '../../context.js'
import type { LineOf } from './access-text.js'
import type { ExampleRecords } from './example-records.js'

/** A condition of a grant that has no effect on any caller. */
export interface RedundantCondition {
  readonly line: number
  readonly condition: string
  readonly reason: string
}

/** Finds conditions whose breaking changes nothing: other grants to the same callers cover the same records. */
export function findRedundant(
  { spec }: Application,
  { world }: ExampleRecords,
  lineOf: LineOf,
): readonly RedundantCondition[] {
  return spec.resources.flatMap((resource) =>
    (resource.access ?? []).flatMap((grant, index) => {
      const { caller, known } = callerFor(spec, grant.to, world)
      const records = world.get(resource.model.table) ?? []
      const effect = (operation: string, record: StoredRecord) =>
        grantsOf(resource, operation, caller)
          .filter(({ rows }) => evaluateRule(rows, record, known).holds === true)
          .flatMap(({ fields }) => fields)
      return (grant.rows ?? []).flatMap((all, alternative) =>
        all.flatMap((condition, broken): readonly RedundantCondition[] => {
          const near = records.filter((record) =>
            nearTo(grant.rows ?? [], record, known).some(
              (each) => each.alternative === alternative && each.broken === broken,
            ),
          )
          const changes = near.some((record) =>
            grant.may.some((operation) => grant.fields.some((field) => !effect(operation, record).includes(field))),
          )
          if (changes) return []
          const line = lineOf(['resources', resource.name, 'access', index])
          const reason =
            near.length > 0 ? 'changes nothing: other grants cover the same' : 'no example record breaks it alone'
          return [{ line, condition: formatCondition(condition), reason }]
        }),
      )
    }),
  )
}
