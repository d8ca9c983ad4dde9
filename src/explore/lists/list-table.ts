import type { FieldSpec, ResourceSpec } from '../../config/spec.js'
import { cell, labelled } from '../records/cell.js'
import { type Exact, isList, isMembers, type Members, printJson, textOf } from '../records/exact-json.js'
import { grouped, type Html, html } from '../html.js'
import { orderedUrl, orderParameter } from './list-query.js'
import { nameOf } from '../names.js'
import { type Explored, type ApiPath, ROOT, recordRoute } from '../place.js'
import { acceptsLink } from '../../resource/bodies/links.js'
import type { Resource } from '../../resource/resource.js'

/** The records of a table; more would make browsers slow. */
const MAX_ROWS = 1_000

/** Returns the records in a response: a list, or the first list in an object; undefined if there is none. */
export function rowsOf(value: Exact | undefined): readonly Members[] | undefined {
  const list = isMembers(value) ? [...value.values()].find(isList) : value
  return isList(list) && list.every(isMembers) ? list : undefined
}

interface Rows {
  readonly rows: readonly Members[]
  readonly search: string
  /** The resource as the caller sees it; undefined for routes of plugins. */
  readonly resource: Resource | undefined
  /** Whether rows can be selected. */
  readonly selects?: boolean
}

/** A table of records, with links to them. There is at least one. */
export function table(explored: Explored, place: ApiPath, { rows, search, resource, selects = false }: Rows): Html {
  const shown = rows.slice(0, MAX_ROWS)
  const record = recordRoute(explored, place)
  const columns = columnsOf(resource, shown, record?.key ?? [])
  const key = columns.find(({ name }) => record?.key.includes(name))
  const row = (members: Members): Html => {
    const path = record && pathOf(explored, place, record, members)
    const cells = columns.map(({ name, field, isNumeric }) => {
      const value = members.get(name)
      const attributes = isNumeric ? html` class="number"` : html` dir="auto"`
      if (value === undefined) return html`<td></td>`
      if (record?.key.includes(name) && path !== undefined)
        return html`<th scope="row"${attributes}><a href="${ROOT + path}">${labelled(explored, field, value)}</a></th>`
      return html`<td${attributes}>${cell(explored, field, value)}</td>`
    })
    return html`<tr>${selects && picker(place, record?.key ?? [], { members, path, resource })}${cells}</tr>\n`
  }
  const pick =
    selects &&
    html`<td class="pick"><input type="checkbox" class="js" data-all aria-label="Select all records of this page"></td>`
  return html`<div class="table" role="region" aria-label="Records" tabindex="0" accesskey="r"><table${resource && html` data-columns="${resource.spec.path}"`}><thead><tr>${pick}${columns.map((column) => heading(resource, column, { search, isKey: column === key }))}</tr></thead>
<tbody>
${shown.map(row)}</tbody></table></div>
${rows.length > MAX_ROWS && html`<p class="dim">The first ${grouped(MAX_ROWS)} of ${grouped(rows.length)} records; the JSON has all of them.</p>`}`
}

interface Picked {
  readonly members: Members
  readonly path: string | undefined
  readonly resource: Resource | undefined
}

/** The checkbox of a record, with its key and its name for requests about several records. */
function picker(place: ApiPath, key: readonly string[], { members, path, resource }: Picked): Html {
  if (path === undefined) return html`<td class="pick"></td>`
  const id = path.slice(place.path.length, -1)
  const values = new Map(key.map((name) => [name, members.get(name) ?? null]))
  const known = resource && nameOf(resource, members)
  const name = known === undefined ? id : `${known} (${id})`
  return html`<td class="pick"><input type="checkbox" class="js" data-id="${id}" data-key="${printJson(values, 'line')}" aria-label="Select ${name}" data-name="${name}"></td>`
}

/** The path of a record in a list; undefined if the list does not show its key. */
function pathOf(
  { routes }: Explored,
  { params, resource }: ApiPath,
  { route, key }: NonNullable<ReturnType<typeof recordRoute>>,
  members: Members,
): string | undefined {
  const parts = key.map((name) => [name, members.get(name)] as const)
  if (parts.some(([, value]) => value === undefined)) return undefined
  const valueOf = (name: string, value: Exact): string => {
    const field = resource?.spec.model.key.find((each) => each.name === name)
    const linked =
      resource && field && typeof value === 'string' ? acceptsLink(resource.spec, routes)(field, value) : undefined
    return linked === undefined ? textOf(value) : String(linked)
  }
  const shown = Object.fromEntries(parts.map(([name, value]) => [name, valueOf(name, value ?? null)]))
  return routes.reverse(route.name, { ...params, ...shown })
}

interface Column {
  readonly name: string
  readonly field: FieldSpec | undefined
  readonly isNumeric: boolean
}

/** The columns of the rows; first the fields that the path of a record has, then those of its key. */
function columnsOf(
  resource: Resource | undefined,
  rows: readonly Members[],
  ofPath: readonly string[],
): readonly Column[] {
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))]
  const fields = new Map(resource?.shown.map((field) => [field.name, field]))
  const key = new Set([...ofPath, ...(resource?.spec.model.key.map(({ name }) => name) ?? [])])
  const ordered = [...[...key].filter((name) => names.includes(name)), ...names.filter((name) => !key.has(name))]
  return ordered.map((name) => {
    const field = fields.get(name)
    const isNumeric = !key.has(name) && !field?.target && rows.every((row) => isNumber(field, row.get(name)))
    return { name, field, isNumeric: isNumeric && rows.some((row) => (row.get(name) ?? null) !== null) }
  })
}

const NUMBER = /^-?\d+(?:\.\d+)?$/

/** Whether a value is a number, or nothing. Exact numbers are strings in JSON. */
function isNumber(field: FieldSpec | undefined, value: Exact | undefined): boolean {
  if (value === null || value === undefined) return true
  if (typeof value === 'object') return 'digits' in value
  return typeof value === 'string' && field?.type.comparisons.includes('text') === false && NUMBER.test(value)
}

interface Heading {
  readonly search: string
  /** Whether the column stays in view while the table is scrolled. */
  readonly isKey: boolean
}

function heading(resource: Resource | undefined, column: Column, { search, isKey }: Heading): Html {
  const { name, field, isNumeric } = column
  const classes = [isNumeric && 'number', isKey && 'key'].filter(Boolean).join(' ')
  const look = classes !== '' && html` class="${classes}"`
  const parameter = resource && field && orderParameter(resource)
  const sort = resource && sortOf(resource.spec, parameter && new URLSearchParams(search).get(parameter.name), name)
  const sorted =
    sort !== undefined && html` aria-sort="${sort.direction}"${sort.isDefault && html` title="default order"`}`
  if (!resource || !parameter?.choices?.includes(name)) return html`<th scope="col"${look}${sorted}>${name}</th>`
  const url = orderedUrl(resource, search, [parameter.name, sort?.direction === 'ascending' ? `-${name}` : name])
  return html`<th scope="col"${look}${sorted}><a href="${url}">${name}</a></th>`
}

/** How rows are sorted by a column, if it comes first in the order: of the request, or by default. */
function sortOf({ defaultOrder, model, dialect }: ResourceSpec, asked: string | null | undefined, name: string) {
  if (asked) {
    const [first] = asked.split(',')
    if (first !== name && first !== `-${name}`) return undefined
    return { direction: first === name ? 'ascending' : 'descending', isDefault: false }
  }
  const [first] = [...defaultOrder, ...model.key.map((field) => ({ field, descending: false }))]
  if (dialect || first?.field.name !== name) return undefined
  return { direction: first.descending ? 'descending' : 'ascending', isDefault: true }
}
