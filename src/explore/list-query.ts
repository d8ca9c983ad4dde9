import type { ResourceSpec } from '../config/spec.js'
import type { QueryParameter } from '../features/feature.js'
import { featureParameters, isFilter, placesPage } from '../features/index.js'
import type { Resource } from '../resource/resource.js'
import { type Html, html } from './html.js'
import type { Pair } from '../resource/query.js'
import { ROOT } from './place.js'

/** Removes the parameters that a form left empty. */
export function withoutEmpty(search: string): string {
  return search
    .split('&')
    .filter((pair) => /=./.test(pair))
    .join('&')
}

/** The parameter for the page size; undefined if there is none or the dialect has its own. */
export function sizeParameter(spec: ResourceSpec): string | undefined {
  return featureParameters(spec, 'list').find(({ role }) => role === 'size')?.name
}

/** The parameter that orders a list; undefined for one that takes no order, or in a dialect. */
export function orderParameter({ spec }: Resource): QueryParameter | undefined {
  return featureParameters(spec, 'list').find(({ role }) => role === 'order')
}

/** Returns the path of a list's first page in another order. */
export function orderedUrl({ spec }: Resource, search: string, order: Pair): string {
  const query = new URLSearchParams(search)
  for (const { name } of featureParameters(spec, 'list').filter(placesPage)) query.delete(name)
  query.set(...order)
  return `${ROOT}${spec.path}?${query}`
}

/** The form that filters and orders a list; undefined for a list without filters and ordering, and for dialects. */
export function queryForm({ spec }: Resource, search: string): Html | undefined {
  const { path, dialect } = spec
  const all = featureParameters(spec, 'list')
  const filters = all.filter(isFilter)
  const others = all.filter((each) => !isFilter(each))
  const typed = others.filter(({ hint }) => hint !== undefined)
  const chosen = others.filter(({ choices }) => choices !== undefined)
  if (dialect || [...filters, ...typed, ...chosen].length === 0) return undefined
  const query = new URLSearchParams(search)
  const inputs = [
    ...typed.map((each) => typedInput(each, query)),
    ...filters.map((each) => filterInput(each, query)),
    ...chosen.map((each) => chosenInput(each, query)),
  ]
  return html`<form class="query" method="get" action="${ROOT + path}" role="search" aria-label="Filter and order">
${inputs}
<span class="actions"><button>Apply</button>${search !== '' && html` <a class="button plain" href="${ROOT + path}">Clear</a>`}</span>
</form>`
}

function typedInput({ name, hint, findsText }: QueryParameter, query: URLSearchParams): Html {
  const type = findsText && html` type="search"`
  return html`<span><label for="${name}">${name}</label><input id="${name}" name="${name}"${type} value="${query.get(name) ?? ''}" placeholder="${hint}" autocomplete="off"></span>`
}

function filterInput({ name, hint, choices }: QueryParameter, query: URLSearchParams): Html {
  const value = query.get(name) ?? ''
  const id = `filter-${name}`
  const control = choices
    ? html`<select id="${id}" name="${name}">${selectOptions(['', ...choices], value)}</select>`
    : html`<input id="${id}" name="${name}" value="${value}" placeholder="${hint}" autocomplete="off">`
  return html`<span><label for="${id}">${name}</label>${control}</span>`
}

function chosenInput({ name, choices = [] }: QueryParameter, query: URLSearchParams): Html {
  const value = query.get(name) ?? ''
  const known = value === '' || choices.includes(value) ? choices : [...choices, value]
  return html`<span><label for="${name}">${name}</label>
<select id="${name}" name="${name}">${selectOptions(['', ...known], value, 'default')}</select></span>`
}

/** The options of a select; an empty one means that nothing is selected. */
export function selectOptions(values: readonly string[], chosen: string, none = 'any'): readonly Html[] {
  return values.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${value === '' ? none : value}</option>`,
  )
}
