import type { FilterSpec, ResourceSpec } from '../config/spec.js'
import type { QueryParameter } from '../features/feature.js'
import { featureParameters } from '../features/index.js'
import { exact } from '../lookups/exact.js'
import { parameterOf } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import type { Resource } from '../resource/resource.js'
import { type Html, html } from './html.js'
import { inputOf } from './input.js'
import { ROOT } from './place.js'

/** Removes the parameters that a form left empty. */
export function withoutEmpty(search: string): string {
  return search
    .split('&')
    .filter((pair) => /=./.test(pair))
    .join('&')
}

/** The parameter for the page size; undefined if there is none or the dialect has its own. */
export function sizeParameter({ dialect, pagination }: ResourceSpec): string | undefined {
  return dialect ? undefined : pagination.style.parameters.find((name) => name === 'page_size' || name === 'limit')
}

/** Returns the path of a list's first page in another order. */
export function orderedUrl({ spec }: Resource, search: string, ordering: string): string {
  const query = new URLSearchParams(search)
  for (const parameter of spec.pagination.style.parameters) query.delete(parameter)
  query.set('ordering', ordering)
  return `${ROOT}${spec.path}?${query}`
}

/** The form that filters and orders a list; undefined for a list without filters and ordering, and for dialects. */
export function queryForm(resource: Resource, search: string): Html | undefined {
  const { filters, orderable, path, dialect } = resource.spec
  const featured = featureParameters(resource.spec, 'list').filter(({ hint }) => hint !== undefined)
  if (dialect || (filters.length === 0 && featured.length === 0 && orderable.length === 0)) return undefined
  const query = new URLSearchParams(search)
  const fields = filters.flatMap((filter) => filter.lookups.map((lookup) => filterInput(filter, lookup, query)))
  return html`<form class="query" method="get" action="${ROOT + path}" role="search" aria-label="Filter and order">
${featured.map((each) => parameterInput(each, query))}${fields}${orderable.length > 0 && orderInput(resource, query)}
<span class="actions"><button>Apply</button>${search !== '' && html` <a class="button plain" href="${ROOT + path}">Clear</a>`}</span>
</form>`
}

function parameterInput({ name, hint, findsText }: QueryParameter, query: URLSearchParams): Html {
  const type = findsText && html` type="search"`
  return html`<span><label for="${name}">${name}</label><input id="${name}" name="${name}"${type} value="${query.get(name) ?? ''}" placeholder="${hint}" autocomplete="off"></span>`
}

function filterInput({ field }: FilterSpec, lookup: Lookup, query: URLSearchParams): Html {
  const name = parameterOf(field.name, lookup)
  const value = query.get(name) ?? ''
  const { kind, choices } = inputOf(field)
  const listed = kind === 'boolean' || lookup === exact ? choices : undefined
  const options = lookup.operand.choices ?? listed
  const id = `filter-${name}`
  const control = options
    ? html`<select id="${id}" name="${name}">${selectOptions(['', ...options], value)}</select>`
    : html`<input id="${id}" name="${name}" value="${value}" placeholder="${lookup.operand.placeholder ?? ''}" autocomplete="off">`
  return html`<span><label for="${id}">${name}</label>${control}</span>`
}

function orderInput({ spec }: Resource, query: URLSearchParams): Html {
  const names = spec.orderable.flatMap(({ name }) => [name, `-${name}`])
  const value = query.get('ordering') ?? ''
  const known = value === '' || names.includes(value) ? names : [...names, value]
  return html`<span><label for="ordering">ordering</label>
<select id="ordering" name="ordering">${selectOptions(['', ...known], value, 'default')}</select></span>`
}

/** The options of a select; an empty one means that nothing is selected. */
export function selectOptions(values: readonly string[], chosen: string, none = 'any'): readonly Html[] {
  return values.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${value === '' ? none : value}</option>`,
  )
}
