import type { ActionDescription } from '../../http/registrations/action-description.js'
import type { Method } from '../../http/route.js'
import type { Identity } from '../../resource/identity.js'
import { type Seen, seenBy } from '../caller.js'
import type { Members } from './exact-json.js'
import { fieldInputs } from './field-input.js'
import { buttonLink, dialog, opener } from './form.js'
import { featureResponses } from '../../features/index.js'
import { type Html, html } from '../html.js'
import { badge } from '../layout.js'
import { type Explored, isRecord, type ApiPath, ROOT } from '../place.js'

const OMITTED = { literal: null }

/** An action at an API path. */
interface PlacedAction {
  readonly action: ActionDescription
  readonly method: Method
  readonly path: string
}

/** The buttons of actions, and the dialogs with their input. */
export interface Offered {
  readonly buttons: readonly Html[]
  readonly dialogs: readonly Html[]
}

/** The actions that the caller may run on the record or list of a page. */
export function actionsOf(explored: Explored, place: ApiPath, { runs }: Seen): Offered {
  const { resource, path, template } = place
  const on = isRecord(place) ? 'record' : 'collection'
  const placed = [...explored.routes].flatMap(({ action, method, path: other }) =>
    resource && action?.resource.spec.name === resource.spec.name && action.on === on && runs(action.name)
      ? [{ action, method, path: path + other.slice(template.length) }]
      : [],
  )
  return offerAll(explored, placed, undefined)
}

/** The actions at the path of the page, for the caller of the request. Inputs are filled from its query string. */
export function actionsAt(
  explored: Explored,
  place: ApiPath,
  given: { identity: Identity | undefined; search: string },
): Offered {
  const placed = place.actions
    .filter(({ action }) => seenBy(explored, action.resource, given.identity).runs(action.name))
    .map((each) => ({ ...each, path: place.path }))
  return offerAll(explored, placed, new Map(new URLSearchParams(given.search)))
}

/**
 * The first action has the access key `a`.
 * @param asked the query of the request, if the page has the path of the actions; undefined on pages of a record or list
 */
function offerAll(explored: Explored, placed: readonly PlacedAction[], asked: Members | undefined): Offered {
  const offered = placed.map((each, index) =>
    offer(explored, each, { asked, accessKey: index === 0 ? 'a' : undefined }),
  )
  return { buttons: offered.map(({ button }) => button), dialogs: offered.flatMap(({ form }) => form ?? []) }
}

function offer(
  explored: Explored,
  { action, method, path }: PlacedAction,
  { asked, accessKey }: { readonly asked: Members | undefined; readonly accessKey: string | undefined },
): { readonly button: Html; readonly form: Html | undefined } {
  const { name, summary, input = [], output, resource } = action
  const id = `action-${name}`
  const button = opener(id, summary, { tone: 'plain', accessKey })
  if (method !== 'GET') {
    const responses = featureResponses(resource.spec, { operation: 'action' })
    const form = dialog({
      id,
      title: summary,
      method,
      path,
      action: 'Run',
      keyed: method === 'POST' && responses.some(({ requestHeaders = {} }) => 'Idempotency-Key' in requestHeaders),
      runs: { summary, hasResult: typeof output === 'object' },
      fields: html`${fieldInputs(explored, input, { id, method: 'POST' })}${input.length === 0 && html`<p>This action takes no input.</p>`}`,
    })
    return { button, form }
  }
  if (input.length === 0) return { button: buttonLink(ROOT + path, summary, accessKey), form: undefined }
  // An omitted parameter has its default, or is null, so nullable parameters need no null checkbox.
  const fields = input.map((field) =>
    field.nullable ? { ...field, nullable: false, default: field.default ?? OMITTED } : field,
  )
  const form = html`<dialog id="${id}" aria-labelledby="heading-${id}"><form method="get" action="${ROOT + path}" autocomplete="off">
<header><h2 id="heading-${id}">${summary}</h2><p class="line">${badge(method)} <code class="url">${path}</code></p></header>
<div class="fields">${fieldInputs(explored, fields, { id, method, ...(asked && { record: asked }) })}</div>
<footer><button type="button" class="plain" data-close>Cancel</button> <button class="primary">Run</button></footer></form></dialog>`
  return { button, form }
}
