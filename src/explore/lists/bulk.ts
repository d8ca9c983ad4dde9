import type { Seen } from '../caller.js'
import { fieldInputs } from '../records/field-input.js'
import { dialog } from '../records/form.js'
import { type Html, html } from '../html.js'
import type { Explored } from '../place.js'

/** The bulk operations of a list. */
export function bulkOf({ resource, may }: Seen): readonly ('partial_update' | 'destroy')[] {
  const { operations } = resource.spec.bulk
  return (['partial_update', 'destroy'] as const).filter((name) => operations.includes(name) && may(name))
}

/** The buttons for the selected records, shown once there are some, and the dialogs behind them. */
export function bulkBar(explored: Explored, seen: Seen): Html {
  const operations = bulkOf(seen)
  const { path, bulk } = seen.resource.spec
  const edits = operations.includes('partial_update')
  const deletes = operations.includes('destroy')
  const names = html`<ul data-names tabindex="0" aria-label="Selected records"></ul>`
  const id = 'bulk-edit'
  const inputs = edits && fieldInputs(explored, seen.settable('PATCH'), { id, method: 'PATCH', isOptional: true })
  return html`<div class="bulk" data-bulk data-max="${bulk.max}" hidden><span data-count></span>${
    edits && html` <button type="button" class="small" data-for="bulk-edit">Edit…</button>`
  }${deletes && html` <button type="button" class="small danger" data-for="bulk-delete">Delete…</button>`} <button type="button" class="small plain" data-none>Clear selection</button> <span class="error"></span></div>
${
  inputs &&
  dialog({
    id,
    title: 'Edit',
    method: 'PATCH',
    path,
    action: 'Save',
    fields: html`${names}<p class="dim">A field that you leave empty stays as it is.</p>${inputs}`,
  })
}${
  deletes &&
  dialog({
    id: 'bulk-delete',
    title: 'Delete',
    method: 'DELETE',
    path,
    action: 'Delete',
    fields: html`${names}<p>This cannot be undone.</p>`,
  })
}`
}
