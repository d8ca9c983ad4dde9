import { featureResponses } from '../features/index.js'
import type { Context } from '../http/route.js'
import type { Resource } from '../resource/resource.js'
import type { Identity } from '../resource/identity.js'
import { actionsAt, actionsOf } from './records/actions.js'
import { type ApiResponse, ask } from './ask.js'
import { type Seen, seenAt, seenBy } from './caller.js'
import { type Exact, type Members, printJson, readExact } from './records/exact-json.js'
import { fieldInputs } from './records/field-input.js'
import { bodyDialog, deletion, dialog, opener } from './records/form.js'
import { type Html, html } from './html.js'
import { badge, layout } from './layout.js'
import { listBody, listTools } from './lists/list-page.js'
import { withoutEmpty } from './lists/list-query.js'
import { rowsOf } from './lists/list-table.js'
import { findRelated, nameOf } from './names.js'
import { collectionOf, curlOf, type Explored, isRecord, type ApiPath, ROOT, recordRoute } from './place.js'
import { changes, members, recordOf } from './records/record-page.js'
import { type Referrer, referrersOf, referring } from './records/referrers.js'
import { detailOf, rejection, requestBar } from './request-bar.js'
import { hasSchemaPage, schemaUrl } from './schema-page.js'
import { hasSwaggerUi } from './swagger-ui.js'

/** A page and the status of the response that it shows. */
interface ShownResponse {
  readonly status: number
  readonly text: string
}

/** The parts of a page that depend on its content. */
interface Parts {
  readonly buttons?: Html | undefined
  readonly above?: Html | false | undefined
  readonly body: Html
  readonly below?: Html | undefined
}

/** The page of an API path: a list, a record, or the response of a plugin. */
export async function placePage(
  all: Explored,
  place: ApiPath,
  { context, origin }: { context: Context; origin: string },
): Promise<ShownResponse> {
  const search = withoutEmpty(context.search)
  const reads = place.methods.includes('GET')
  const answer = reads ? await ask(context, all.routes, { path: place.path, search }) : undefined
  const url = search === '' ? place.path : `${place.path}?${search}`
  const value = answer && readExact(answer.text)
  const { identity } = context
  const seen = {
    search,
    answer,
    value,
    identity,
    whole: await wholeRecord(all, place, { context, search, answer }),
  }
  const { resource } = place
  const record = isRecord(place) && answer?.status === 200 ? recordOf(value, resource) : undefined
  const caller =
    resource && (record ? await seenAt(all, { ...place, resource }, context) : seenBy(all, resource, identity))
  const explored = {
    ...all,
    near: resource?.spec.path,
    related: await findRelated({ ...all, near: resource?.spec.path }, context, {
      resource: caller?.resource,
      rows: record ? [record] : (rowsOf(value) ?? []),
    }),
  }
  const referrers = resource && record ? await referrersOf(explored, resource, { record, context }) : []
  const { buttons, above, body, below } = partsOf(explored, place, { ...seen, caller, referrers })
  const plain = titleOf(place)
  const title = (record && caller && nameOf(caller.resource, record)) ?? plain
  const script = place.resource && isRecord(place) ? 'explore-record.js' : 'explore-list.js'
  const main = html`<div class="head"><div>${crumbs(explored, place, title === plain ? undefined : plain)}<h1 dir="auto">${title}</h1></div><div class="actions">${buttons}</div></div>
<p class="facts">${place.methods.map((method) => html`${badge(method)} `)}<span class="dim">${place.template} · ${place.source}</span>${resource && all.resources.includes(resource) && caller && hasSchemaPage(caller) && html` · <a href="${schemaUrl(resource)}">Schema</a>`}${docsLink(explored, place)}</p>
${above}${answer && requestBar({ curl: curlOf(explored, origin + url), url, answer })}
${body}
<noscript><p class="dim">Changing records requires JavaScript: the forms send JSON, like any client.</p></noscript>${below}`
  return {
    status: answer && answer.status >= 400 ? answer.status : 200,
    text: layout(explored, { title: title === plain ? title : `${title} · ${plain}`, path: place.path, main, script }),
  }
}

/** The operations of the resource in Swagger UI, if it is installed. */
function docsLink({ file }: Explored, { resource, actions }: ApiPath): Html | undefined {
  const name = (resource ?? actions[0]?.action.resource)?.spec.name
  return name !== undefined && hasSwaggerUi(file)
    ? html` · <a href="/docs/#/${encodeURIComponent(name)}">Documentation</a>`
    : undefined
}

/** The response with the whole record, which forms need: this one, unless parameters selected a part. */
async function wholeRecord(
  explored: Explored,
  place: ApiPath,
  { context, search, answer }: { context: Context; search: string; answer: ApiResponse | undefined },
): Promise<ApiResponse | undefined> {
  if (search === '' || !isRecord(place) || answer?.status !== 200) return answer
  return ask(context, explored.routes, { path: place.path, search: '' })
}

interface Answered {
  /** The response with all of a record, for its forms. */
  readonly whole?: ApiResponse | undefined
  readonly search: string
  readonly answer: ApiResponse | undefined
  readonly value: Exact | undefined
  readonly identity: Identity | undefined
  /** The resource as the caller sees it; undefined for routes of plugins. */
  readonly caller: Seen | undefined
  readonly referrers: readonly Referrer[]
}

function partsOf(explored: Explored, place: ApiPath, seen: Answered): Parts {
  const { search, answer, value, caller, whole, referrers } = seen
  const { resource } = place
  const rejected = answer && answer.status >= 400
  if (!resource || !caller) return pluginParts(explored, place, seen)
  if (isRecord(place)) {
    const record = recordOf(value, resource)
    if (rejected || !record) return { body: answer ? rejection(answer, value) : html`` }
    const stored = whole?.status === 200 ? recordOf(readExact(whole.text), resource) : undefined
    const version = whole?.headers.get('etag')
    const actions = actionsOf(explored, place, caller)
    const { buttons, dialogs } = stored
      ? changes(explored, place, { caller, record: stored, version, actions, referrers })
      : {}
    const body = html`${members(explored, resource, record)}${referring(referrers)}`
    return { buttons, body, below: dialogs }
  }
  const { name } = resource.spec
  const creates = caller.may('create')
  const actions = actionsOf(explored, place, caller)
  const asked = { search, answer, value, detail: rejected ? detailOf(value) : undefined }
  const listed = answer && (listBody(explored, place, caller, asked) ?? raw(answer, value))
  return {
    buttons: html`${creates && opener('create', `New ${name}`, { tone: 'primary', accessKey: 'n' })}${actions.buttons}`,
    above: answer && caller.may('list') && listTools(explored, caller, asked),
    body: rejected ? rejection(answer, value) : html`${listed}`,
    below: html`${
      creates &&
      dialog({
        id: 'create',
        title: `New ${name}`,
        method: 'POST',
        path: place.path,
        action: 'Create',
        keyed: takesHeader(resource, 'Idempotency-Key'),
        fields: fieldInputs(explored, caller.settable('POST'), { id: 'create', method: 'POST' }),
      })
    }${actions.dialogs}`,
  }
}

/** Whether a request that creates a record may have this header. */
function takesHeader({ spec }: Resource, name: string): boolean {
  return featureResponses(spec, { operation: 'create' }).some(({ requestHeaders = {} }) => name in requestHeaders)
}

/** The shape of a plugin's response is unknown: it is shown as a table or a record if it looks like one. */
function pluginParts(explored: Explored, place: ApiPath, { search, answer, value, identity }: Answered): Parts {
  const others = place.methods.filter((method) => !place.actions.some((each) => each.method === method))
  const writes = others.filter((method) => method === 'POST' || method === 'PUT' || method === 'PATCH')
  const rows = rowsOf(value)
  const record = rows ? undefined : recordOf(value)
  const deletes = others.includes('DELETE')
  const actions = actionsAt(explored, place, { identity, search })
  const likely = likelyBody(record ?? rows?.[0], recordRoute(explored, place)?.key)
  const rejected = answer && answer.status >= 400
  const shown = rows
    ? listBody(explored, place, undefined, { search, answer, value, detail: undefined })
    : record && members(explored, undefined, record)
  return {
    buttons: html`${actions.buttons}${writes.map((method) => opener(`send-${method.toLowerCase()}`, `${method}…`, { tone: 'primary' }))}${
      deletes && opener('delete', 'Delete', { tone: 'danger' })
    }`,
    body: rejected ? rejection(answer, value) : html`${shown}${answer && raw(answer, value)}`,
    below: html`${actions.dialogs}${writes.map((method) => bodyDialog(method, place.path, method === 'POST' || record ? likely : '{}'))}${
      deletes && deletion({ path: place.path, list: collectionOf(explored, place), what: place.path })
    }`,
  }
}

/** A starting point for a body: the members of an existing record without its key. */
function likelyBody(record: Members | undefined, key: readonly string[] = ['id']): string {
  return record ? printJson(new Map([...record].filter(([name]) => !key.includes(name))), 'lines') : '{}'
}

function raw({ text, cut }: ApiResponse, value: Exact | undefined): Html {
  return html`<details class="raw"><summary>Response</summary><pre tabindex="0">${value === undefined ? text : printJson(value, 'lines')}</pre></details>
${cut && html`<p class="dim">The answer is longer than a page shows; the JSON has all of it.</p>`}`
}

function titleOf(place: ApiPath): string {
  const { resource } = place
  if (!resource) return place.actions[0]?.action.summary ?? place.path
  const key = place.path.split('/').slice(-1 - resource.key.parameters.length, -1)
  return isRecord(place) ? `${resource.spec.name} ${key.map(decode).join(', ')}` : resource.spec.name
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function crumbs(explored: Explored, place: ApiPath, last: string | undefined): Html {
  const parent = collectionOf(explored, place)
  return html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/explore/">Explore</a>${parent !== undefined && html` / <a href="${ROOT + parent}">${parent}</a>`}${last !== undefined && ` / ${last}`}</nav>`
}
