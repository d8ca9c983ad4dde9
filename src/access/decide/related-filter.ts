import type { GrantSpec, ModelSpec } from '../../config/spec.js'
import { compareValue } from './compare.js'
import { evaluateRule, some, type StoredRecord } from './evaluate.js'
import { type Comparison, fieldOf, grantsOf, type Situation } from './situation.js'

type Holds = (record: StoredRecord) => boolean

/**
 * Compiles a filter over relations to a test of records. At each step, all grants by which the caller reads the record must show the next relation, and
 * at the last step the field. A related record passes only if the caller may retrieve it.
 * @returns undefined if the caller may not filter by the field
 */
export function compileRelated(situation: Situation, comparison: Comparison): Holds | undefined {
  const { resource, caller } = situation
  const readings = [...grantsOf(resource, 'list', caller), ...grantsOf(resource, 'retrieve', caller)]
  return follow(situation, comparison, { model: resource.model, readings, relations: comparison.relations ?? [] })
}

interface Step {
  readonly model: ModelSpec
  /** The grants that show the record. */
  readonly readings: readonly GrantSpec[]
  readonly relations: readonly string[]
}

function follow(situation: Situation, comparison: Comparison, step: Step): Holds | undefined {
  const { spec, caller, known } = situation
  const { model, readings, relations } = step
  const [name, ...others] = relations
  const fieldName = name ?? comparison.field
  if (readings.length === 0 || !readings.every(({ fields }) => fields.includes(fieldName))) return undefined
  const field = fieldOf(model.fields, fieldName)
  if (name === undefined) {
    const { lookup, wanted } = comparison
    return (record) => compareValue(field, lookup, record[fieldName] ?? null, wanted) === true
  }
  const { target } = field
  const shownBy = spec.resources.find(
    (each) => each.model.table === target?.table && each.operations.includes('retrieve'),
  )
  if (target === undefined || shownBy === undefined) return undefined
  const grants = grantsOf(shownBy, 'retrieve', caller)
  const holds = follow(situation, comparison, { model: shownBy.model, readings: grants, relations: others })
  if (holds === undefined) return undefined
  return (record) => {
    const related = known.records(target.table)?.find((each) => each[target.field] === record[fieldName])
    return (
      related !== undefined &&
      some(grants.map(({ rows }) => evaluateRule(rows, related, known).holds)) === true &&
      holds(related)
    )
  }
}
