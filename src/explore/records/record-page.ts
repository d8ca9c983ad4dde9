import { isWritable } from '../../config/spec.js'
import type { Resource } from '../../resource/resource.js'
import type { Offered } from './actions.js'
import type { Seen } from '../caller.js'
import { whole } from './cell.js'
import { type Exact, isMembers, type Members } from './exact-json.js'
import { fieldInputs } from './field-input.js'
import { deletion, dialog, opener } from './form.js'
import { type Html, html } from '../html.js'
import { nameOf } from '../names.js'
import { collectionOf, type Explored, type ApiPath } from '../place.js'
import { consequences, type Referrer } from './referrers.js'

/**
 * Returns the record in a response. A plugin may wrap the record: then the response is an object with one member.
 * @param resource tells a wrapped record from a record with one field; undefined for routes of plugins
 */
export function recordOf(value: Exact | undefined, resource?: Resource): Members | undefined {
  if (!isMembers(value)) return undefined
  const [[name, only] = [], ...more] = value
  const isField = resource?.shown.some((field) => field.name === name)
  return more.length === 0 && isMembers(only) && !isField ? only : value
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

interface Changed {
  readonly caller: Seen
  readonly record: Members
  /** The version that changes apply to. */
  readonly version: string | undefined
  readonly actions: Offered
  readonly referrers: readonly Referrer[]
}

/**
 * The buttons and dialogs that run actions on a record, change it and delete it. Changes and deletions fail if somebody else has changed the
 * record since.
 */
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
  const merges = model.fields.some((field) => field.type.patch && isWritable(field))
  const hides = model.fields.some((field) => field.writeOnly)
  const [puts, patches] = [may('update'), may('partial_update')]
  if (puts && (!patches || (merges && !hides))) return 'PUT'
  return patches ? 'PATCH' : undefined
}
