import type { ResourceSpec } from '../../config/spec.js'
import { type ApiResponse, totalOf } from '../ask.js'
import { grouped, type Html, html } from '../html.js'
import { isSelective, keptInputs, listUrl, pageParameters, sizeParameter } from './list-query.js'
import { ROOT } from '../place.js'

const LINK = /<(\/[^>]*)>; rel="(first|prev|next|last)"/g
const WORDS = { first: 'First', prev: 'Previous', next: 'Next', last: 'Last' } as const
const SIZES = [10, 25, 50, 100, 250, 500, 1000]

/** A page of a list. */
export interface Page {
  readonly answer: ApiResponse
  readonly search: string
  /** The records of the page. */
  readonly length: number
}

/** Where a page is in its list, as far as the request and the response say. */
interface Position {
  readonly offset: number | undefined
  readonly size: number | undefined
  readonly total: number | undefined
  readonly isEstimate: boolean
  /** The page number, and the number of pages. */
  readonly page: number | undefined
  readonly pages: number | undefined
}

function positionOf(spec: ResourceSpec | undefined, { answer, search }: Page): Position {
  const header = answer.headers.get('x-total-count')
  const total = header === undefined ? undefined : Number(header)
  const isEstimate = answer.headers.has('x-total-count-estimated')
  const sizeName = spec && sizeParameter(spec)
  const names = spec ? pageParameters(spec) : []
  const query = new URLSearchParams(search)
  const asked = Number(query.get(sizeName ?? '') ?? spec?.pagination.pageSize)
  const size = spec && sizeName !== undefined ? Math.min(asked, spec.pagination.maxPageSize) : undefined
  if (size === undefined) return { offset: undefined, size, total, isEstimate, page: undefined, pages: undefined }
  const page = names.includes('page') ? Number(query.get('page') ?? 1) : undefined
  const offset = names.includes('offset') ? Number(query.get('offset') ?? 0) : page && (page - 1) * size
  const pages = page === undefined || total === undefined ? undefined : Math.max(1, Math.ceil(total / size))
  return { offset, size, total, isEstimate, page, pages }
}

/** The range of the records that are shown, links to the neighbours of the page, and forms for its number and size. */
export function pager(spec: ResourceSpec | undefined, page: Page): Html {
  const at = positionOf(spec, page)
  const links = new Map(
    [...(page.answer.headers.get('link') ?? '').matchAll(LINK)].map(([, url = '', rel = '']) => [rel, url]),
  )
  const known = links.has('prev') || links.has('next') ? (['first', 'prev', 'next', 'last'] as const) : []
  const steps = known.flatMap((rel) => {
    const url = links.get(rel)
    return url === undefined
      ? []
      : [html`<li><a class="button small" rel="${rel}" href="${ROOT + url}">${WORDS[rel]}</a></li>`]
  })
  return html`<nav class="pager" aria-label="Pages"><p class="dim">${range(at, page)}</p>${spec && jump(spec, at, page)}<ul>${steps}</ul>${spec && sizes(spec, at, page)}</nav>`
}

function range({ offset, total }: Position, { answer, length }: Page): string {
  const all = totalOf(answer)
  const records =
    all === undefined
      ? `${grouped(length)} ${length === 1 ? 'record' : 'records'} on this page`
      : `${all} ${total === 1 ? 'record' : 'records'}`
  if (offset === undefined || length === 0 || length === total) return records
  const shown = `${grouped(offset + 1)}–${grouped(offset + length)}`
  return all === undefined ? shown : `${shown} of ${all}`
}

function jump(spec: ResourceSpec, { page, pages, isEstimate }: Position, { search }: Page): Html | undefined {
  if (page === undefined || (pages ?? 2) < 2) return undefined
  const kept = keptInputs(new URLSearchParams(search), pageParameters(spec))
  const of = pages !== undefined && html` of ${isEstimate && 'about '}${grouped(pages)}`
  return html`<form method="get" action="${ROOT + spec.path}">${kept}<label>page <input name="page" value="${page}" inputmode="numeric" size="${Math.max(2, String(page).length)}" autocomplete="off"></label>${of} <button class="small">Go</button></form>`
}

function sizes(spec: ResourceSpec, { size, total }: Position, { search }: Page): Html | undefined {
  const name = sizeParameter(spec)
  if (name === undefined || size === undefined) return undefined
  const { pageSize, maxPageSize } = spec.pagination
  const offered = [...new Set([...SIZES.filter((each) => each <= maxPageSize), pageSize, size])].sort((a, b) => a - b)
  if (offered.length < 2 || (total !== undefined && total <= Math.min(...offered))) return undefined
  const kept = keptInputs(new URLSearchParams(search), [...pageParameters(spec), name])
  const options = offered.map(
    (each) => html`<option value="${each}"${each === size && html` selected`}>${grouped(each)}</option>`,
  )
  return html`<form method="get" action="${ROOT + spec.path}">${kept}<label><select name="${name}" data-auto>${options}</select> per page</label> <button class="small">Show</button></form>`
}

/** Says why a page has no records. */
export function emptyPage(spec: ResourceSpec | undefined, { answer, search }: Page): Html {
  const total = Number(answer.headers.get('x-total-count') ?? 0)
  if (total > 0 && spec) {
    const first = new URLSearchParams(search)
    for (const name of pageParameters(spec)) first.delete(name)
    const count = totalOf(answer)
    return html`<p class="empty">This page is past the end: the list has ${count} ${total === 1 ? 'record' : 'records'}. <a href="${listUrl(spec, first)}">First page</a></p>`
  }
  return html`<p class="empty">No records${isSelective(spec, search) ? ' that match' : ' yet'}.</p>`
}
