import { exact } from '../../lookups/exact.js'
import type { Context } from '../../http/route.js'
import type { ResourceSpec, TargetSpec } from '../../config/spec.js'
import type { Resource } from '../../resource/resource.js'
import { seenBy } from '../caller.js'
import { countOf, MAX_COUNTED } from '../lists/count.js'
import { type Members, textOf } from './exact-json.js'
import { type Html, html } from '../html.js'
import { type Explored, ROOT } from '../place.js'

/** Records that refer to the record of a page, by one relation. */
export interface Referrer {
  /** The resource that shows them. */
  readonly name: string
  readonly relation: string
  readonly onDelete: TargetSpec['onDelete']
  /** The path and query of their list; undefined if the list has no filter for the relation. */
  readonly url: string | undefined
  /** How many there are; undefined if the caller may not list them, or if they were not counted. */
  readonly count: string | undefined
  /** The line of the resource that would add the filter, for developers who see all its filters. */
  readonly addition: string | undefined
}

interface ShownRecord {
  readonly record: Members
  readonly context: Context
}

/** Finds what refers to a record, as far as the caller may see it. */
export async function referrersOf(
  explored: Explored,
  { spec }: Resource,
  { record, context }: ShownRecord,
): Promise<readonly Referrer[]> {
  const found = explored.resources.flatMap((other) => {
    if ((other.spec.mounted === undefined) !== (spec.mounted === undefined)) return []
    const { resource: seen, may } = seenBy(explored, other, context.identity)
    if (!may('list')) return []
    const shown = seen.shown.map(({ name }) => name)
    const filtered = seen.spec.filters.flatMap(({ name, lookups }) => (lookups.includes(exact) ? [name] : []))
    return other.spec.model.relations.flatMap(({ name, target, parts }) => {
      if (target.model !== spec.model.name) return []
      const query = parts.flatMap(({ field, to }) => {
        const value = record.get(to.name) ?? null
        return value === null ? [] : [[field.name, textOf(value)] as [string, string]]
      })
      if (query.length < parts.length) return []
      if (!parts.every(({ field }) => shown.includes(field.name))) return []
      const isFiltered = parts.every(({ field }) => filtered.includes(field.name))
      // The line has all filters, and so the names of fields that this caller may not see.
      const seesAll = seen.spec.filters.length === other.spec.filters.length
      return { other, name, target, parts, query: isFiltered ? new URLSearchParams(query) : undefined, seesAll }
    })
  })
  const isWritten = explored.development && spec.mounted === undefined
  return Promise.all(
    found.map(async ({ other, name, target, parts, query, seesAll }, index) => ({
      name: other.spec.name,
      relation: name,
      onDelete: target.onDelete,
      url: query && `${other.spec.path}?${query}`,
      count: query && index < MAX_COUNTED ? await countOf(explored, context, other, query) : undefined,
      addition:
        query || !isWritten || !seesAll
          ? undefined
          : filterableBy(
              other.spec,
              parts.map(({ field }) => field.name),
            ),
    })),
  )
}

/** The `filterable` of a resource with exact filters for further fields, as in resources.yaml. */
function filterableBy({ filters }: ResourceSpec, names: readonly string[]): string {
  const lookups = new Map(filters.map(({ name, lookups }) => [name, lookups.map((lookup) => lookup.name)]))
  for (const name of names) lookups.set(name, [...new Set([exact.name, ...(lookups.get(name) ?? [])])])
  const isShort = [...lookups.values()].every((each) => each.join() === exact.name)
  return isShort
    ? `filterable: [${[...lookups.keys()].join(', ')}]`
    : `filterable: { ${[...lookups].map(([name, each]) => `${name}: [${each.join(', ')}]`).join(', ')} }`
}

/** Links to lists of what refers to a record. */
export function referring(referrers: readonly Referrer[]): Html | undefined {
  if (referrers.length === 0) return undefined
  const links = referrers.map(({ name, relation, url, count, addition }) =>
    url === undefined
      ? html`<li>${name} <span class="dim">by ${relation}: not counted, because the list of ${name} has no filter for ${relation}</span>${
          addition !== undefined &&
          html`<details><summary>How to add the filter</summary><p>Write this line in the resource <code>${name}</code>, in place of its <code>filterable</code> if it has one, and save the file. <code>npx snippetctl check</code> says which index the filter needs.</p>
<pre tabindex="0">${addition}</pre></details>`
        }</li>`
      : html`<li><a href="${ROOT + url}">${name}</a> <span class="dim">by ${relation}${count !== undefined && `: ${count}`}</span></li>`,
  )
  return html`<section><h2>Refers to this</h2><ul class="plain">${links}</ul></section>`
}

const CONSEQUENCES: Readonly<Record<TargetSpec['onDelete'], string>> = {
  restrict: 'the delete is rejected while there are any',
  cascade: 'they are deleted too',
  set_null: 'they stay, and refer to nothing then',
}

/** The effects of deleting a record on the records that refer to it. */
export function consequences(referrers: readonly Referrer[]): Html | undefined {
  const concerned = referrers.filter(({ count }) => count !== '0')
  if (concerned.length === 0) return undefined
  const lines = concerned.map(
    ({ name, relation, onDelete, count }) =>
      html`<li>${count === undefined ? '' : `${count} × `}${name} by ${relation}: ${CONSEQUENCES[onDelete]}</li>`,
  )
  return html`<p>Refers to this:</p><ul>${lines}</ul>`
}
