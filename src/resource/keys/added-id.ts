import { type FieldSpec, ADDED_ID, loneKey, type ResourceSpec } from '../../config/spec.js'
import { derivedField } from '../../config/derived-field.js'
import type { Comparison } from '../../dialects/dialect.js'
import { fail } from '../../foundation/fail.js'
import { writeCell } from '../../fields/cell.js'
import { comparedColumn } from '../../fields/compared-column.js'
import { text } from '../../fields/types/text.js'
import { isIn } from '../../lookups/in.js'
import type { Lookup } from '../../lookups/lookup.js'
import { Problem } from '../../foundation/problem.js'
import { encodeSegment } from './path-segment.js'
import type { Condition, Id, Row } from '../plan.js'
import { quote } from '../query.js'
import { keyOf } from './record-key.js'

/** The member with a key of several fields as one text. */
export const JOINED_FIELD: FieldSpec = derivedField({
  name: ADDED_ID,
  label: 'Id',
  type: text,
  options: {},
  nullable: false,
})

/** The values by which a client of a dialect knows records; undefined if records have no key. */
export function idFieldOf({ model }: Pick<ResourceSpec, 'model'>): FieldSpec | undefined {
  return model.key.length > 1 ? JOINED_FIELD : loneKey(model)
}

/** The maximum number of ids in a request. Each adds a condition for each part of the key. */
export const MAX_JOINED_IDS = 100

/** The comparison of a key of several fields with ids. */
export function joinedIdLookup(spec: ResourceSpec): {
  readonly lookup: Lookup<readonly Id[]>
  /** @throws Problem `invalid_query` for an invalid id */
  conditionOf(comparison: Comparison): Condition
} {
  const key = keyOf(spec)
  const [first = fail('a joined id has parts')] = key.fields
  const lookup: Lookup<readonly Id[]> = {
    ...(isIn as Lookup<never>),
    sql: (_column, { value, bind }) => {
      const partIs = (id: Id, field: FieldSpec) =>
        `${comparedColumn(field)} = ${bind(() => writeCell(field, (id as Row)[field.name]))}`
      const alternatives = value.map((id) => `(${key.fields.map((field) => partIs(id, field)).join(' and ')})`)
      return alternatives.length === 0 ? 'false' : `(${alternatives.join(' or ')})`
    },
  }
  const conditionOf = ({ parameter, values }: Comparison): Condition => {
    const texts = [...new Set(values)]
    if (texts.length > MAX_JOINED_IDS)
      throw new Problem('invalid_query', `${quote(parameter)} takes at most ${MAX_JOINED_IDS} values`)
    const value = texts.map((each) => key.parse(encodeSegment(each) ?? '') ?? rejectId(parameter, each))
    return { field: first, lookup, value }
  }
  return { lookup, conditionOf }
}

function rejectId(parameter: string, given: string): never {
  throw new Problem('invalid_query', `the value of ${quote(parameter)} must be the id of a record; got ${quote(given)}`)
}
