import { paginationStyle } from '../../pagination/index.js'
import { membersOf } from '../schema/yaml-shape.js'
import { type Drafts, type FieldDraft, typedOf } from './drafts.js'
import type { Report } from './report.js'
import type { ResourceDraft } from './resource-drafts.js'

/** Finds out whether the pagination links of a resource, which may contain a value of each field of the order, could become too long. */
export function linkMeasure({ path, given }: ResourceDraft, models: Drafts, report: Report) {
  const { style: name } = Object.fromEntries(membersOf(given('pagination')))
  const style = report.isInvalid([...path, 'pagination']) ? undefined : paginationStyle(String(name))
  return (order: readonly FieldDraft[]): boolean => {
    const fields = [...new Set(order)].flatMap((field) => {
      const options = typedOf(field, models)?.options
      return options === undefined ? [] : [{ name: field.name, type: field.type, options }]
    })
    return style?.outgrows?.(fields) === true
  }
}

/** The mistake to report for such a field. */
export const OUTGROWN = {
  code: 'SC311',
  help: ['give it a `max` (at most 500 in total for all text fields of an order), or choose another style'],
} as const
