import type { Seen } from './caller.js'
import { type Html, html } from './html.js'
import { inputOf } from './input.js'
import { badge } from './layout.js'

/** The bulk operations of a list. */
export function bulkOf({ resource, may }: Seen): readonly ('partial_update' | 'destroy')[] {
  const { operations } = resource.spec.bulk
  return (['partial_update', 'destroy'] as const).filter((name) => operations.includes(name) && may(name))
}

/** The buttons for the selected records, shown once there are some, and the dialogs behind them. */
export function bulkBar(seen: Seen): Html {
  const { resource } = seen
  const operations = bulkOf(seen)
  const { path, bulk } = resource.spec
  const edits = operations.includes('partial_update')
  const deletes = operations.includes('destroy')
  return html`<div class="bulk" data-bulk data-max="${bulk.max}" hidden><span data-count></span>${
    edits && html` <button type="button" class="small" data-for="bulk-edit">Edit…</button>`
  }${deletes && html` <button type="button" class="small danger" data-for="bulk-delete">Delete…</button>`} <button type="button" class="small plain" data-none>Clear selection</button> <span class="error"></span></div>
${edits && frame({ id: 'bulk-edit', method: 'PATCH', path, action: 'Save', tone: 'primary', fields: editFields(seen) })}${
  deletes &&
  frame({
    id: 'bulk-delete',
    method: 'DELETE',
    path,
    action: 'Delete',
    tone: 'danger',
    fields: html`<p>This cannot be undone.</p>`,
  })
}`
}

interface Frame {
  readonly id: string
  readonly method: 'PATCH' | 'DELETE'
  readonly path: string
  readonly action: string
  readonly tone: string
  readonly fields: Html
}

/** A dialog that lists the selected records by name. */
function frame({ id, method, path, action, tone, fields }: Frame): Html {
  return html`<dialog id="${id}" aria-labelledby="heading-${id}"><form data-several="${method}" data-path="${path}" novalidate>
<header><h2 id="heading-${id}"></h2><p class="line">${badge(method)} <code class="url">${path}</code></p></header>
<div class="fields"><div class="alert" role="alert" hidden></div><ul data-names tabindex="0" aria-label="Selected records"></ul>${fields}</div>
<footer><button type="button" class="plain" data-close>Cancel</button> <button class="${tone}">${action}</button></footer></form></dialog>`
}

/** One field to set in all of the records. */
function editFields({ settable }: Seen): Html {
  const writable = settable('PATCH').filter((field) => !field.readOnly && !field.private && !field.primaryKey)
  const options = writable.map((field) => {
    const { kind, choices, hint } = inputOf(field)
    const words = choices ? choices.join(', ') : hint
    return html`<option value="${field.name}" data-kind="${kind}" data-hint="${words}"${field.nullable && html` data-nullable`}>${field.label}</option>`
  })
  return html`<div class="field"><div class="label"><label for="bulk-field">Set the field</label></div><select id="bulk-field">${options}</select></div>
<div class="field"><div class="label"><label for="bulk-value">to</label><label class="null"><input type="checkbox" id="bulk-null"> null</label></div><textarea id="bulk-value" rows="1" spellcheck="false" aria-describedby="bulk-hint"></textarea><p class="hint" id="bulk-hint"></p></div>`
}
