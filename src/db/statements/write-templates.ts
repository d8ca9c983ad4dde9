import { rememberByText } from '../../remember.js'
import type { GrantedWrite } from './granted-writes.js'
import { createTemplates, type Templates } from './templates.js'

/**
 * Keeps the texts of writes for callers with the same roles. A text depends on the fields that are written and on the grants that can cover them.
 * @returns the templates for a write
 */
export function createWriteTemplates(maxEntries: number): (write: GrantedWrite) => Templates {
  const templates = rememberByText(maxEntries, () => createTemplates({ ownsValues: false }))
  return ({ form }) => templates(form)
}
