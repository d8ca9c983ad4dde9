import { FORBIDDEN_NAMES } from '../../../foundation/json.js'
import { formOf } from '../../../fields/columns.js'
import type { ExistingColumn } from '../../../fields/existing-column.js'
import type { CatalogColumn } from './catalog.js'

const NAME = /^[a-z][a-z0-9_]{0,62}$/

/** Whether a text is a valid name of a model, and of a field that is spelled in the usual way. */
export function isRepresentableName(name: string): boolean {
  return NAME.test(name) && !FORBIDDEN_NAMES.has(name)
}

/** Whether requests cannot set the only field that can describe a column. */
export function isOpaque(column: ExistingColumn): boolean {
  return formOf(column)?.type.readOnly ?? false
}

/** Whether a field of a type other than `opaque` can describe a column. */
export function isRepresentable(column: CatalogColumn): boolean {
  return !column.generated && formOf(column) !== undefined && !isOpaque(column)
}
