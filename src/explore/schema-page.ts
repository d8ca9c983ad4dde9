import { readFile } from 'node:fs/promises'
import { totalOrder } from '../config/indexes/coverage.js'
import { readConfig } from '../config/yaml/document.js'
import { findValue } from '../config/yaml/located.js'
import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import { resourceAt } from '../http/route.js'
import type { Resource } from '../resource/resource.js'
import type { Seen } from './caller.js'
import { type Html, html } from './html.js'
import { badge, layout } from './layout.js'
import { type Explored, ROOT } from './place.js'

/** The path of a page about the schema of a resource. No path of the API starts with `~`. */
export function schemaUrl({ spec }: Resource): string {
  return `${ROOT}/~schema/${spec.name}`
}

/** Whether a caller has the page: only if records show the caller a field. */
export function hasSchemaPage({ resource }: Seen): boolean {
  return resource.shown.length > 0
}

/** The page about a resource itself: its fields with their rules, the parameters of its lists, its routes, and the lines that declare it. */
export async function schemaPage(explored: Explored, { resource, may, runs }: Seen): Promise<string> {
  const { spec } = resource
  const { model } = spec
  const fields = resource.shown.map(
    (field) =>
      html`<div><dt><b>${field.name}</b> <span class="code">${field.type.name}</span></dt><dd>${aboutField(field)}</dd></div>\n`,
  )
  const filters = spec.filters.map(
    ({ name, lookups }) => html`<li><code>${name}</code>: ${lookups.map((lookup) => lookup.name).join(', ')}</li>`,
  )
  const isShown = (field: FieldSpec) => resource.shown.includes(field)
  const key = model.key.filter(isShown)
  const order = totalOrder(spec, spec.defaultOrder)
    .filter(({ field }) => isShown(field))
    .map(({ field, descending }) => `${descending ? '-' : ''}${field.name}`)
  const lists: readonly (readonly [string, Html | string])[] = [
    ['Filters', filters.length > 0 ? html`<ul class="plain">${filters}</ul>` : 'none'],
    ['Search', namesOf(spec.search)],
    ['Orders', namesOf(spec.orderable)],
    ['Default order', order.join(', ') || 'none'],
    ['Pages', describePages(spec)],
  ]
  const facts: typeof lists = [
    ...(may('list') ? lists : []),
    ['Primary key', namesOf(key)],
    ['Table', explored.development ? model.table : ''],
    ['Indexes', explored.development ? indexesOf(resource) : ''],
  ]
  const routes = [...explored.routes]
    .filter((route) => (resourceAt(route) ?? route.action?.resource)?.spec.name === spec.name)
    .filter(({ generated, action }) => (generated ? may(generated.operation) : !action || runs(action.name)))
    .map(
      ({ name, method, path }) =>
        html`<tr><th scope="row">${name}</th><td>${badge(method)}</td><td><code>${path}</code></td></tr>\n`,
    )
  const main = html`<div class="head"><div><nav class="crumbs" aria-label="Breadcrumb"><a href="/explore/">Explore</a> / <a href="${ROOT + spec.path}">${spec.path}</a></nav><h1>Schema of ${spec.name}</h1></div></div>
<h2>Fields</h2>
<dl class="record">${fields}</dl>
<h2>${may('list') ? 'Lists' : 'Table'}</h2>
<dl class="record">${facts.flatMap(([name, value]) => (value === '' ? [] : html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`))}</dl>
${section('Routes', ['Name', 'Method', 'Path'], routes)}
${explored.development && (await declarations(explored, resource))}`
  return layout(explored, { title: `Schema of ${spec.name}`, path: spec.path, main })
}

function section(name: string, heads: readonly string[], rows: readonly Html[]): Html {
  const cells = heads.map((head) => html`<th scope="col">${head}</th>`)
  return html`<h2>${name}</h2>
<div class="table" role="region" aria-label="${name}" tabindex="0"><table><thead><tr>${cells}</tr></thead><tbody>${rows}</tbody></table></div>`
}

function describePages({ pagination, dialect }: ResourceSpec): string {
  if (dialect) return `by the dialect ${dialect.name}`
  const { style, pageSize, maxPageSize } = pagination
  if (style.parameters.length === 0) return 'none: a list has all records'
  return `${style.name}, ${pageSize} records, at most ${maxPageSize}`
}

/** The settings of a field and its rules, as a list. */
function aboutField(field: FieldSpec): Html {
  const rules = [...new Set(field.type.rules(field.options).map(({ message }) => message))]
  const said = field.message === undefined ? rules : [field.message]
  const lines = [factsOf(field), ...said].filter((line) => line !== '')
  return html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`
}

function factsOf(field: FieldSpec): string {
  const { default: fallback } = field
  const value = fallback && ('call' in fallback ? `${fallback.call}()` : JSON.stringify(fallback.literal))
  return [
    ...(field.primaryKey ? ['primary key'] : []),
    ...(field.target ? [`refers to ${field.target.model}`] : []),
    ...(field.nullable ? ['nullable'] : []),
    ...(field.unique ? ['unique'] : []),
    ...(field.readOnly ? ['set by the server'] : []),
    ...(value === undefined ? [] : [`default ${value}`]),
  ].join(', ')
}

function namesOf(fields: readonly FieldSpec[]): string {
  return fields.map(({ name }) => name).join(', ') || 'none'
}

function indexesOf({ spec }: Resource): string {
  return spec.model.indexes.map(({ columns, unique }) => `${unique ? 'unique ' : ''}(${columns.join(', ')})`).join(', ')
}

/** The lines of the configuration that declare a resource and its model, as the file is now. */
async function declarations({ file }: Explored, { spec }: Resource): Promise<Html | undefined> {
  const bytes = await readFile(file).catch(() => undefined)
  const document = bytes && readConfig(bytes, file)
  if (!document || 'length' in document) return undefined
  const paths = [
    ['models', spec.model.name],
    ['resources', spec.mounted ?? spec.name],
  ] as const
  // The file may have changed since it was read, and fail.
  const found = paths.filter((path) => findValue(document.value, path) !== undefined)
  if (found.length === 0) return undefined
  const blocks = found.map((path) => {
    const first = document.locate(path, 'key').start.line
    const last = document.locate(path, 'value').end
    // A block ends at the start of the line after it.
    const end = last.column === 1 ? last.line - 1 : last.line
    return html`<h3><code>${path.join('.')}</code> <span class="dim">${first === end ? `line ${first}` : `lines ${first}–${end}`}</span></h3><pre tabindex="0">${document.lines.slice(first - 1, end).join('\n')}</pre>`
  })
  return html`<h2>Declared in <code>${file}</code></h2>${blocks}`
}
