import type { GrantSpec } from '../../config/spec.js'
import { rememberByText } from '../../remember.js'
import { CallerKey } from '../../resource/access.js'
import type { GrantedWrite } from './granted-writes.js'
import { createTemplates, type Templates } from './templates.js'

/**
 * Keeps the texts of writes for callers with the same roles. A text depends on the fields that are written and on the grants that can cover them.
 * @returns the templates for a write under some of the given grants
 */
export function createWriteTemplates(
  maxEntries: number,
): (write: GrantedWrite, grants: readonly GrantSpec[]) => Templates {
  const templates = rememberByText(maxEntries, () => createTemplates({ ownsValues: false }))
  return (write, grants) => templates(formOf(write, grants))
}

function formOf({ row, sent, coverings }: GrantedWrite, grants: readonly GrantSpec[]): string {
  let form = ''
  for (const name in row) form += `${row[name] instanceof CallerKey ? '$' : ''}${sent.has(name) ? '+' : ''}${name},`
  for (const { grant, unchanged } of coverings) {
    form += `;${grants.indexOf(grant)}`
    for (const { name } of unchanged) form += `=${name}`
  }
  return form
}
