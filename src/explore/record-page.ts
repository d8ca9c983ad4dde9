import { exact } from '../lookups/exact.js'
import type { Context } from '../http/route.js'
import type { TargetSpec } from '../config/spec.js'
import type { Resource } from '../resource/resource.js'
import type { Offered } from './actions.js'
import { type Seen, seenBy } from './caller.js'
import { whole } from './cell.js'
import { countOf, MAX_COUNTED } from './count.js'
import { type Exact, isMembers, type Members, textOf } from './exact-json.js'
import { fieldInputs } from './field-input.js'
import { deletion, dialog, opener } from './form.js'
import { type Html, html } from './html.js'
import { nameOf } from './names.js'
import { collectionOf, type Explored, type ApiPath, ROOT } from './place.js'

/** Returns the record in a response: an object, or the only member of an object. */
export function recordOf(value: Exact | undefined): Members | undefined {
  if (!isMembers(value)) return undefined
  const [only, ...more] = value.values()
  return more.length === 0 && isMembers(only) ? only : value
}

/** All members of a record, complete. */
export function members(explored: Explored, resource: Resource | undefined, record: Members): Html {
  const fields = new Map(resource?.shown.map((field) => [field.name, field]))
  const rows = [...record].map(
    ([name, value]) =>
      html`<div><dt>${name}</dt><dd dir="auto">${whole(explored, fields.get(name), value)}</dd></div>\n`,
  )
  return html`<dl class="record">${rows}</dl>`
}

/** Records that refer to the record of a page, by one relation. */
export interface Referrer {
  /** The resource that shows them. */
  readonly name: string
  readonly relation: string
  readonly onDelete: TargetSpec['onDelete']
  /** The path and query of their list; undefined if the list has no filter for the relation. */
  readonly url: string | undefined
  /** How many there are; undefined if the list does not say. */
  readonly count: string | undefined
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
    const shown = may('list') ? seen.shown.map(({ name }) => name) : []
    const filtered = other.spec.filters.flatMap(({ name, lookups }) => (lookups.includes(exact) ? [name] : []))
    return other.spec.model.relations.flatMap(({ name, target, parts }) => {
      if (target.model !== spec.model.name) return []
      const query = parts.flatMap(({ field, to }) => {
        const value = record.get(to.name) ?? null
        return value === null ? [] : [[field.name, textOf(value)] as [string, string]]
      })
      if (query.length < parts.length) return []
      const isFiltered = parts.every(({ field }) => filtered.includes(field.name))
      if (!isFiltered && !parts.every(({ field }) => shown.includes(field.name))) return []
      return { other, name, target, query: isFiltered ? new URLSearchParams(query) : undefined, isSeen: may('list') }
    })
  })
  return Promise.all(
    found.map(async ({ other, name, target, query, isSeen }, index) => ({
      name: other.spec.name,
      relation: name,
      onDelete: target.onDelete,
      url: query && `${other.spec.path}?${query}`,
      count: query && isSeen && index < MAX_COUNTED ? await countOf(explored, context, other, query) : undefined,
    })),
  )
}

/** Links to lists of what refers to a record. */
export function referring(referrers: readonly Referrer[]): Html | undefined {
  if (referrers.length === 0) return undefined
  const links = referrers.map(({ name, relation, url, count }) =>
    url === undefined
      ? html`<li>${name} <span class="dim">by ${relation}, which its list has no filter for</span></li>`
      : html`<li><a href="${ROOT + url}">${name}</a> <span class="dim">by ${relation}${count !== undefined && `: ${count}`}</span></li>`,
  )
  return html`<section><h2>Refers to this</h2><ul class="plain">${links}</ul></section>`
}

const CONSEQUENCES: Readonly<Record<TargetSpec['onDelete'], string>> = {
  restrict: 'the delete is rejected while there are any',
  cascade: 'they are deleted too',
  set_null: 'they stay, and refer to nothing then',
}

/** What happens to records that refer to one that is deleted. */
function consequences(referrers: readonly Referrer[]): Html | undefined {
  const concerned = referrers.filter(({ count }) => count !== '0')
  if (concerned.length === 0) return undefined
  const lines = concerned.map(
    ({ name, relation, onDelete, count }) =>
      html`<li>${count === undefined ? '' : `${count} × `}${name} by ${relation}: ${CONSEQUENCES[onDelete]}</li>`,
  )
  return html`<p>Refers to this:</p><ul>${lines}</ul>`
}

interface Changed {
  readonly caller: Seen
  readonly record: Members
  /** The version that changes apply to. */
  readonly version: string | undefined
  readonly actions: Offered
  readonly referrers: readonly Referrer[]
}

/** The buttons and dialogs that run actions on a record, change it and delete it. The latter two fail if somebody else has changed it since. */
export function changes(explored: Explored, place: ApiPath, { caller, record, version, actions, referrers }: Changed) {
  const { resource } = caller
  const { name } = resource.spec
  const known = nameOf(resource, record)
  const method = changingMethod(caller)
  const deletes = caller.may('destroy')
  const buttons = [
    ...(method ? [opener('edit', 'Edit', { tone: 'primary', accessKey: 'e' })] : []),
    ...actions.buttons,
    ...(deletes ? [opener('delete', 'Delete', { tone: 'danger' })] : []),
  ]
  const edit =
    method &&
    dialog({
      id: 'edit',
      title: `Edit ${name}`,
      method,
      path: place.path,
      action: 'Save',
      version,
      fields: fieldInputs(explored, caller.settable(method), { id: 'edit', method, record }),
    })
  const destroy =
    deletes &&
    deletion({
      path: place.path,
      list: collectionOf(explored, place),
      what: known === undefined ? `this ${name}` : `“${known}”`,
      version,
      consequences: consequences(referrers),
    })
  return { buttons: html`${buttons}`, dialogs: html`${edit}${actions.dialogs}${destroy}` }
}

/** PATCH sends only changes, but it merges objects, so removing a member of an object requires PUT. */
function changingMethod({
  resource: {
    spec: { model },
  },
  may,
}: Seen): 'PUT' | 'PATCH' | undefined {
  const merges = model.fields.some((field) => field.type.patch && !field.readOnly && !field.private)
  const hides = model.fields.some((field) => field.writeOnly)
  const [puts, patches] = [may('update'), may('partial_update')]
  if (puts && (!patches || (merges && !hides))) return 'PUT'
  return patches ? 'PATCH' : undefined
}
