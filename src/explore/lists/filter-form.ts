import type { ResourceSpec } from '../../config/spec.js'
import type { QueryParameter } from '../../features/feature.js'
import { featureParameters, isFilter } from '../../features/index.js'
import { type Html, html } from '../html.js'
import { keptInputs, listUrl, pageParameters, selectOptions, sizeParameter } from './list-query.js'
import { ROOT } from '../place.js'

/** A list's query, and why the API rejected it. */
export interface ListQuery {
  readonly search: string
  /** Undefined unless the query was rejected. */
  readonly detail: string | undefined
}

/** The form that searches, filters and orders a list; undefined for a list without parameters, and for dialects. */
export function queryForm(spec: ResourceSpec, { search, detail }: ListQuery): Html | undefined {
  const { path, dialect } = spec
  const all = featureParameters(spec, 'list')
  const searchParameter = all.find((each) => each.findsText && !isFilter(each))
  const shown = all.filter(
    (each) => each !== searchParameter && (isFilter(each) || each.hint !== undefined || each.choices !== undefined),
  )
  if (dialect || (!searchParameter && shown.length === 0)) return undefined
  const query = new URLSearchParams(search)
  const error = errorIn(query, detail)
  const inputs = shown.map((each) => input(each, query, error))
  const isOpen = shown.some(({ name }) => name === error?.name)
  const named = [...(searchParameter ? [searchParameter] : []), ...shown].map(({ name }) => name)
  return html`<form class="query" method="get" action="${ROOT + path}" role="search" aria-label="Filter and order">
${searchParameter && searchInput(searchParameter, query, error)}${
  shown.length > 0 &&
  html`<details class="menu"${isOpen && html` open`}><summary class="button">+ Filter</summary><div class="panel">${inputs}<p><button class="primary">Apply</button></p></div></details>`
}${keptInputs(query, [...named, ...pageParameters(spec)])}${searchParameter && html`<button>Search</button>`}
</form>`
}

/** The filters of a list, each with a link that removes it. */
export function chips(spec: ResourceSpec, { search, detail }: ListQuery): Html | undefined {
  const query = new URLSearchParams(search)
  const error = errorIn(query, detail)
  const page = pageParameters(spec)
  const order = featureParameters(spec, 'list').find(({ role }) => role === 'order')?.name
  const hidden = [...page, order, sizeParameter(spec)]
  const without = (name: string) => {
    const rest = new URLSearchParams(query)
    for (const each of [name, ...page]) rest.delete(each)
    return listUrl(spec, rest)
  }
  const active = [...new Set(query.keys())].filter((name) => !hidden.includes(name) || name === error?.name)
  if (active.length === 0) return undefined
  const links = active.map((name) => {
    const value = query.getAll(name).join(', ')
    const tone = name === error?.name ? 'chip wrong' : 'chip'
    return html`<li><a class="${tone}" href="${without(name)}" aria-label="Remove ${name}: ${value}"><code>${name}</code> <span>${value}</span> <span aria-hidden="true">×</span></a></li>`
  })
  const clear = active.length > 1 && html`<li><a class="small" href="${ROOT + spec.path}">Clear all</a></li>`
  return html`<ul class="chips" aria-label="Active filters">${links}${clear}</ul>`
}

interface FilterError {
  readonly name: string
  readonly detail: string
}

/** The parameter that the API rejected, found by its name in the API's message. */
function errorIn(query: URLSearchParams, detail: string | undefined): FilterError | undefined {
  if (detail === undefined) return undefined
  const named = [...detail.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  const name = named.find((each) => query.has(each)) ?? [...query.keys()].find((each) => detail.startsWith(`${each} `))
  return name === undefined ? undefined : { name, detail }
}

function searchInput(
  { name, hint = name }: QueryParameter,
  query: URLSearchParams,
  error: FilterError | undefined,
): Html {
  const [marks, message] = marksOf(name, name, error)
  return html`<span class="wide"><input id="${name}" name="${name}" type="search" dir="auto" accesskey="s" aria-label="${name}" value="${query.get(name) ?? ''}" placeholder="Search: ${hint}" autocomplete="off"${marks}>${message}</span>`
}

function input(
  { name, hint, choices, role }: QueryParameter,
  query: URLSearchParams,
  error: FilterError | undefined,
): Html {
  const value = query.get(name) ?? ''
  const id = `filter-${name}`
  const [marks, message] = marksOf(id, name, error)
  const known = !choices || value === '' || choices.includes(value) ? choices : [...choices, value]
  const control = known
    ? html`<select id="${id}" name="${name}"${marks}>${selectOptions(['', ...known], value, role === 'filter' ? 'any' : 'default')}</select>`
    : html`<input id="${id}" name="${name}" dir="auto" value="${value}" placeholder="${hint}" autocomplete="off"${marks}>`
  return html`<span><label for="${id}">${name}</label>${control}${message}</span>`
}

/** The attributes and the message of an invalid input. Browsers scroll to it. */
function marksOf(id: string, name: string, error: FilterError | undefined): readonly [Html | false, Html | false] {
  if (error?.name !== name) return [false, false]
  return [
    html` aria-invalid="true" aria-describedby="${id}-error" autofocus`,
    html`<span class="error" id="${id}-error">${error.detail}</span>`,
  ]
}
