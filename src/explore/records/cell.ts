import type { FieldSpec } from '../../config/spec.js'
import { type Exact, isList, isMembers, printJson, textOf } from './exact-json.js'
import { type Html, html } from '../html.js'
import { referred } from '../names.js'
import { type Explored, ROOT } from '../place.js'

/** The maximum length of a value in a table. */
const MAX_SHOWN = 160

/** A value in a table cell: one line, shortened if it is long. */
export function cell(explored: Explored, field: FieldSpec | undefined, value: Exact): Html {
  const text = textOf(value)
  const shown = [...text.slice(0, 2 * MAX_SHOWN)].slice(0, MAX_SHOWN).join('')
  return linked(explored, field, value) ?? plain(value, shown === text ? text : `${shown}…`)
}

/** A complete value. */
export function whole(explored: Explored, field: FieldSpec | undefined, value: Exact): Html {
  const found = linked(explored, field, value)
  if (found) return found
  if (isList(value) || isMembers(value)) return html`<pre dir="ltr" tabindex="0">${printJson(value, 'lines')}</pre>`
  const text = textOf(value)
  return text.length > 80 || text.includes('\n') ? html`<div class="text">${text}</div>` : plain(value, text)
}

function plain(value: Exact, text: string): Html {
  if (typeof value === 'string') return value === '' ? html`<i class="none">empty</i>` : html`${text}`
  if (value === null) return html`<i class="none">null</i>`
  return html`<span class="number">${text}</span>`
}

/** A value that links to another record: a relation, with the name of its record, or a link in the response. */
function linked(explored: Explored, field: FieldSpec | undefined, value: Exact): Html | undefined {
  if (value === null || (field && !field.target && !field.joined)) return undefined
  const found = referred(explored, field, value)
  const path = found?.path ?? (typeof value === 'string' && value.startsWith('/') ? value : undefined)
  const match = path === undefined ? undefined : explored.routes.match('GET', path)
  if (path === undefined || !match || !('route' in match)) return undefined
  return html`<a href="${ROOT + path}">${labelled(explored, field, value)}</a>`
}

/**
 * The text of a value, after the name of the record that it refers to. The name has no `dir`, so that a cell with `dir="auto"` takes its direction
 * from the name.
 */
export function labelled(explored: Explored, field: FieldSpec | undefined, value: Exact): Html {
  const found = referred(explored, field, value)
  const name = found && explored.related?.names.get(found.path)
  if (name === undefined) return html`${textOf(value)}`
  const key = value === found?.path ? found.path.slice(found.resource.spec.path.length, -1) : textOf(value)
  return html`<span class="name">${name}</span> <span class="dim">${key}</span>`
}
