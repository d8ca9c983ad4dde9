import { exact } from '../lookups/exact.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import type { Offered } from './actions.js'
import { type Seen, seenBy } from './caller.js'
import { whole } from './cell.js'
import { type Exact, isMembers, type Members, textOf } from './exact-json.js'
import { fieldInputs } from './field-input.js'
import { deletion, dialog, opener } from './form.js'
import { type Html, html } from './html.js'
import { collectionOf, type Explored, type Place, ROOT } from './place.js'

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
    ([name, value]) => html`<div><dt>${name}</dt><dd>${whole(explored, fields.get(name), value)}</dd></div>\n`,
  )
  return html`<dl class="record">${rows}</dl>`
}

/** The records that refer to this one: links to lists filtered by it, and the names of lists that have no filter for it. */
export function referring(
  explored: Explored,
  { spec }: Resource,
  { record, identity }: { readonly record: Members; readonly identity: Identity | undefined },
): Html | undefined {
  const links = explored.resources.flatMap((other) => {
    const { resource: seen, may } = seenBy(explored, other, identity)
    const shown = may('list') ? seen.shown.map(({ name }) => name) : []
    const filtered = other.spec.filters.flatMap(({ field, lookups }) => (lookups.includes(exact) ? [field.name] : []))
    return other.spec.model.relations.flatMap(({ name, target, parts }) => {
      if (target.model !== spec.model.name) return []
      const query = parts.flatMap(({ field, to }) => {
        const value = record.get(to.name) ?? null
        return value === null ? [] : [[field.name, textOf(value)] as const]
      })
      if (query.length < parts.length) return []
      if (!parts.every(({ field }) => filtered.includes(field.name)))
        return parts.every(({ field }) => shown.includes(field.name))
          ? html`<li>${other.spec.name} <span class="dim">by ${name}, which its list has no filter for</span></li>`
          : []
      const url = `${other.spec.path}?${new URLSearchParams(Object.fromEntries(query))}`
      return html`<li><a href="${ROOT + url}">${other.spec.name}</a> <span class="dim">by ${name}</span></li>`
    })
  })
  return links.length > 0 ? html`<section><h2>Refers to this</h2><ul class="plain">${links}</ul></section>` : undefined
}

interface Changed {
  readonly caller: Seen
  readonly record: Members
  /** The version that changes apply to. */
  readonly version: string | undefined
  readonly actions: Offered
}

/** The buttons and dialogs that run actions on a record, change it and delete it. The latter two fail if somebody else has changed it since. */
export function changes(explored: Explored, place: Place, { caller, record, version, actions }: Changed) {
  const { resource } = caller
  const { name } = resource.spec
  const method = changingMethod(caller)
  const deletes = caller.may('destroy')
  const buttons = [
    ...(method ? [opener('edit', 'Edit', 'primary')] : []),
    ...actions.buttons,
    ...(deletes ? [opener('delete', 'Delete', 'danger')] : []),
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
      fields: fieldInputs(explored, resource.spec.model.fields, { id: 'edit', method, record }),
    })
  const destroy =
    deletes && deletion({ path: place.path, list: collectionOf(explored, place), what: `this ${name}`, version })
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
