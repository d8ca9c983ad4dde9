import { type FieldSpec, loneKey } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import { type Exact, isList, isMembers, printJson, textOf } from './exact-json.js'
import { type Html, html } from './html.js'
import { type Explored, ROOT } from './place.js'

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
  if (isList(value) || isMembers(value)) return html`<pre>${printJson(value, 'lines')}</pre>`
  const text = textOf(value)
  return text.length > 80 || text.includes('\n') ? html`<pre>${text}</pre>` : plain(value, text)
}

function plain(value: Exact, text: string): Html {
  if (typeof value === 'string') return value === '' ? html`<i class="none">empty</i>` : html`${text}`
  if (value === null) return html`<i class="none">null</i>`
  return html`<span class="number">${text}</span>`
}

/** A value that links to another record: a relation, or a link in the response. */
function linked(explored: Explored, field: FieldSpec | undefined, value: Exact): Html | undefined {
  if (value === null || (field && !field.target && !field.joined)) return undefined
  const path = typeof value === 'string' && value.startsWith('/') ? value : pathOf(explored, field, value)
  const match = path === undefined ? undefined : explored.routes.match('GET', path)
  return match && 'route' in match ? html`<a href="${ROOT + path}">${textOf(value)}</a>` : undefined
}

function pathOf({ resources, routes }: Explored, field: FieldSpec | undefined, value: Exact): string | undefined {
  const target = field?.target ?? field?.joined?.target
  if (!target?.isKey || isList(value)) return undefined
  const shown = resources.find(({ spec }) => spec.model.name === target.model && spec.operations.includes('retrieve'))
  if (!shown) return undefined
  const params = isMembers(value) ? [...value] : [[loneKey(shown.spec.model)?.name ?? '', value] as const]
  return routes.reverse(
    detailName(shown.spec.name),
    Object.fromEntries(params.map(([name, part]) => [name, textOf(part)])),
  )
}
