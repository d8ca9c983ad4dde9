import { READS } from '../config/core-spec.js'
import { flag } from '../config/schema/parts.js'
import type { ComputedFields } from './computed.js'
import type { Feature } from './feature.js'
import { readNames, someOf } from './names.js'
import { membersOf, select, type SelectionPlan } from './selection.js'

export interface SparseFieldsSpec {
  /** Whether clients may request only some members of records. */
  readonly sparseFields: boolean
}

/** `sparse_fields: true`: lists and single records have only the members that the parameter `fields` names. */
export const sparseFields: Feature<SparseFieldsSpec, SelectionPlan, ComputedFields> = {
  plainOnly: true,
  selects: ['fields'],

  keys: {
    sparse_fields: flag('Whether `?fields=` selects members of records.'),
  },

  synonyms: { sparse_fields: ['sparse', 'sparse_fieldsets'] },

  parse:
    ({ given }) =>
    () => ({ sparseFields: given('sparse_fields') === true }),

  reserves: ({ given }) => (given('sparse_fields') === true ? ['fields'] : []),

  parameters(spec) {
    if (!spec.sparseFields) return []
    const members = membersOf(spec)
    return [
      {
        name: 'fields',
        on: READS,
        description: 'The members of records to answer, in any order; all of them without it.',
        several: true,
        schema: { type: 'array', items: { type: 'string', enum: members }, minItems: 1, uniqueItems: true },
        typescript: someOf(members),
        partial: true,
        read: (text, plan) => select(plan, { members: new Set(readNames('fields', text, members)) }),
      },
    ]
  },

  options: ({ sparseFields: isSparse }) => (isSparse ? { sparse_fields: true } : {}),
}
