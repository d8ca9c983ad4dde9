import type { ResourceSpec } from '../../config/spec.js'
import type { QueryParameter } from '../../features/feature.js'
import { featureParameters, isFilter, placesPage } from '../../features/index.js'
import type { Resource } from '../../resource/resource.js'
import { type Html, html } from '../html.js'
import type { Pair } from '../../resource/query.js'
import { ROOT } from '../place.js'

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

/** The parameter that orders a list; undefined if it has none, and in a dialect. */
export function orderParameter({ spec }: Resource): QueryParameter | undefined {
  return featureParameters(spec, 'list').find(({ role }) => role === 'order')
}

/** The names of the parameters that set the start of a page. */
export function pageParameters(spec: ResourceSpec): readonly string[] {
  return featureParameters(spec, 'list').flatMap(({ role, name }) => (role === 'page' ? [name] : []))
}

/** Returns the path of a list's first page in another order. */
export function orderedUrl({ spec }: Resource, search: string, order: Pair): string {
  const query = new URLSearchParams(search)
  for (const name of pageParameters(spec)) query.delete(name)
  query.set(...order)
  return listUrl(spec, query)
}

/** Returns the path of a list's page. */
export function listUrl({ path }: ResourceSpec, query: URLSearchParams): string {
  const search = query.toString()
  return `${ROOT}${path}${search === '' ? '' : `?${search}`}`
}

/** Whether a query leaves out some of the records: by a filter, or before its page. */
export function isSelective(spec: ResourceSpec | undefined, search: string): boolean {
  if (!spec || spec.dialect) return search !== ''
  const query = new URLSearchParams(search)
  const selecting = featureParameters(spec, 'list').filter(
    (each) => isFilter(each) || each.findsText || each.role === 'page',
  )
  return selecting.some(({ name }) => query.has(name))
}

/** The query of a list without its page, which other pages and exports share. */
export function unpaged(spec: ResourceSpec, search: string): URLSearchParams {
  const query = new URLSearchParams(search)
  for (const { name } of featureParameters(spec, 'list').filter(placesPage)) query.delete(name)
  return query
}

/** Inputs that keep the parameters of a page in a form. */
export function keptInputs(query: URLSearchParams, except: readonly string[]): readonly Html[] {
  return [...query]
    .filter(([name]) => !except.includes(name))
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

/** The options of a select; an empty one means that nothing is selected. */
export function selectOptions(values: readonly string[], chosen: string, none = 'any'): readonly Html[] {
  return values.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${value === '' ? none : value}</option>`,
  )
}
