import { formatValue } from '../../config/edit/format-value.js'
import type { FieldSpec } from '../../config/spec.js'
import { EXPORT_FORMATS } from '../../features/export.js'
import type { ApiResponse } from '../ask.js'
import { bulkBar, bulkOf } from './bulk.js'
import type { Seen } from '../caller.js'
import type { Exact } from '../records/exact-json.js'
import { chips, queryForm } from './filter-form.js'
import { opener } from '../records/form.js'
import { grouped, type Html, html } from '../html.js'
import { isSelective, unpaged } from './list-query.js'
import { labelOf } from '../names.js'
import { rowsOf, table } from './list-table.js'
import { emptyPage, pager } from './pager.js'
import type { Explored, ApiPath } from '../place.js'

interface ListAnswer {
  readonly search: string
  readonly answer: ApiResponse | undefined
  readonly value: Exact | undefined
  /** Why the API rejected the request; undefined if it did not. */
  readonly detail: string | undefined
}

/** The tools above the table of a list: search, filters, and actions on all records. */
export function listTools({ development }: Explored, seen: Seen, { search, detail, answer }: ListAnswer): Html {
  const { spec } = seen.resource
  const asked = { search, detail: answer && answer.status === 400 ? (detail ?? '') : undefined }
  return html`<div class="tools">${queryForm(spec, asked) ?? (development && additions(seen))}<div class="actions">${columnsMenu()}${downloads(seen, search)}</div></div>
${chips(spec, asked)}`
}

/** How to declare a search, filters and orders, for developers. */
function additions({ resource }: Seen): Html | undefined {
  const { spec, shown } = resource
  const label = labelOf(resource)
  const line = (key: string, field: FieldSpec | undefined) => (field ? [`${key}: ${formatValue([field.name])}`] : [])
  const lines = [
    ...line('search', label?.type.comparisons.includes('text') ? label : undefined),
    ...line('orderable', label?.type.orderable ? label : undefined),
    ...line('filterable', shown.find(({ target }) => target) ?? label),
  ]
  if (lines.length === 0 || spec.dialect || spec.mounted !== undefined) return undefined
  return html`<details><summary>How to search, sort and filter</summary><p>Write lines like these in the resource <code>${spec.name}</code>, and save the file. <code>npx snippetctl check</code> says which indexes they need.</p>
<pre tabindex="0">${lines.join('\n')}</pre></details>`
}

/** The records of a list, and where they are in it; undefined for a response without records. */
export function listBody(
  explored: Explored,
  place: ApiPath,
  seen: Seen | undefined,
  asked: ListAnswer,
): Html | undefined {
  const { search, answer, value } = asked
  const rows = rowsOf(value)
  if (!answer || !rows) return undefined
  const resource = seen?.resource
  const page = { answer, search, length: rows.length }
  const selects = seen !== undefined && resource?.spec.dialect === undefined && bulkOf(seen).length > 0
  const first =
    seen?.may('create') &&
    !isSelective(resource?.spec, search) &&
    opener('create', `Create your first ${seen.resource.spec.name}`, { tone: 'primary' })
  if (rows.length === 0)
    return html`${emptyPage(resource?.spec, page)}${first && html`<p class="first">${first}</p>`}${pager(resource?.spec, page)}`
  return html`${selects && bulkBar(explored, seen)}${table(explored, place, { rows, search, resource, selects })}
${answer.cut && html`<p class="dim">Only the first ${grouped(rows.length)} records: the response is longer than a page reads. The JSON has all of them.</p>`}
${pager(resource?.spec, page)}`
}

/** Filled by the script. */
function columnsMenu(): Html {
  return html`<details class="menu js" data-chooser><summary class="button">Columns</summary><div class="panel"></div></details>`
}

function downloads({ resource: { spec }, may }: Seen, search: string): Html | undefined {
  if (!spec.exported || spec.dialect || !may('list')) return undefined
  const query = unpaged(spec, search).toString()
  const links = EXPORT_FORMATS.map((format) => {
    const url = `${spec.path}export.${format}${query === '' ? '' : `?${query}`}`
    return html`<a class="button" href="${url}" download>Download ${format.toUpperCase()}</a> `
  })
  return html`${links}`
}
