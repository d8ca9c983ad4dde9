import type { FieldSpec } from '../config/spec.js'
import type { Resource } from '../resource/resource.js'
import { type ApiResponse, totalOf } from './ask.js'
import { cell } from './cell.js'
import { type Exact, isList, isMembers, type Members, textOf } from './exact-json.js'
import { type Html, html } from './html.js'
import { orderedUrl, orderParameter } from './list-query.js'
import { type Explored, type Place, ROOT, recordRoute } from './place.js'

const MAX_ROWS = 200
const MAX_COLUMNS = 24

/** Returns the records in a response: a list, or the first list in an object; undefined if there is none. */
export function rowsOf(value: Exact | undefined): readonly Members[] | undefined {
  const list = isMembers(value) ? [...value.values()].find(isList) : value
  return isList(list) && list.every(isMembers) ? list : undefined
}

/** A table of records, with links to them. */
export function table(
  explored: Explored,
  place: Place,
  { rows, search }: { rows: readonly Members[]; search: string },
): Html {
  const { resource } = place
  const columns = columnsOf(resource, rows)
  const record = recordRoute(explored, place)
  const row = (members: Members): Html => {
    const path = record && pathOf(explored, place, record, members)
    const cells = columns.map(({ name, field }) => {
      const value = members.get(name)
      if (value === undefined) return html`<td></td>`
      if (record?.key.includes(name) && path !== undefined)
        return html`<td><a href="${ROOT + path}">${textOf(value)}</a></td>`
      return html`<td>${cell(explored, field, value)}</td>`
    })
    return html`<tr>${cells}</tr>\n`
  }
  if (rows.length === 0) return html`<p class="empty">No records${search === '' ? ' yet' : ' that match'}.</p>`
  return html`<div class="table" role="region" aria-label="Records" tabindex="0"><table><thead><tr>${columns.map((column) => heading(resource, column, search))}</tr></thead>
<tbody>
${rows.slice(0, MAX_ROWS).map(row)}</tbody></table></div>
${rows.length > MAX_ROWS && html`<p class="dim">The first ${MAX_ROWS} of ${rows.length}; the JSON has all of them.</p>`}`
}

/** The path of a record in a list; undefined if the list does not show its key. */
function pathOf(
  { routes }: Explored,
  { params }: Place,
  { route, key }: NonNullable<ReturnType<typeof recordRoute>>,
  members: Members,
): string | undefined {
  const parts = key.map((name) => [name, members.get(name)] as const)
  if (parts.some(([, value]) => value === undefined)) return undefined
  const shown = Object.fromEntries(parts.map(([name, value]) => [name, textOf(value ?? null)]))
  return routes.reverse(route.name, { ...params, ...shown })
}

interface Column {
  readonly name: string
  readonly field: FieldSpec | undefined
}

/** The columns of the rows; empty if there are no rows. */
function columnsOf(resource: Resource | undefined, rows: readonly Members[]): readonly Column[] {
  const names = new Set(rows.slice(0, MAX_ROWS).flatMap((row) => [...row.keys()]))
  const fields = new Map(resource?.shown.map((field) => [field.name, field]))
  return [...names].slice(0, MAX_COLUMNS).map((name) => ({ name, field: fields.get(name) }))
}

function heading(resource: Resource | undefined, { name, field }: Column, search: string): Html {
  const parameter = resource && field && orderParameter(resource)
  if (!resource || !parameter?.choices?.includes(name)) return html`<th scope="col">${name}</th>`
  const ordering = new URLSearchParams(search).get(parameter.name)?.split(',')[0]
  const sort = ordering === name ? 'ascending' : ordering === `-${name}` ? 'descending' : undefined
  const url = orderedUrl(resource, search, [parameter.name, sort === 'ascending' ? `-${name}` : name])
  return html`<th scope="col"${sort !== undefined && html` aria-sort="${sort}"`}><a href="${url}">${name}</a></th>`
}

const LINK = /<(\/[^>]*)>; rel="(first|prev|next|last)"/g
const WORDS = { first: 'First', prev: 'Previous', next: 'Next', last: 'Last' } as const

/** Links to the neighbours of a page, and the total, as far as the response provides them. */
export function pager(answer: ApiResponse, rows: readonly Members[]): Html {
  const links = new Map(
    [...(answer.headers.get('link') ?? '').matchAll(LINK)].map(([, url = '', rel = '']) => [rel, url]),
  )
  const total = totalOf(answer)
  const count = total === undefined ? `${rows.length} here` : `${total} ${total === '1' ? 'record' : 'records'}`
  const known = links.has('prev') || links.has('next') ? (['first', 'prev', 'next', 'last'] as const) : []
  const steps = known.flatMap((rel) => {
    const url = links.get(rel)
    return url === undefined
      ? []
      : [html`<li><a class="button small" rel="${rel}" href="${ROOT + url}">${WORDS[rel]}</a></li>`]
  })
  return html`<nav class="pager" aria-label="Pages"><p class="dim">${count}</p><ul>${steps}</ul></nav>`
}
