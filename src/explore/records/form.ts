import type { Method } from '../../http/route.js'
import { type Html, html } from '../html.js'
import { badge } from '../layout.js'
import { ROOT } from '../place.js'

interface FormParts {
  /** The id of the dialog and the prefix of the ids in it. */
  readonly id: string
  readonly title: string
  readonly method: Method
  /** The API path that the script sends the body to. */
  readonly path: string
  /** The next page after success; by default the page that the response names, or this one. */
  readonly next?: string
  readonly action: string
  /** Whether the request has an `Idempotency-Key`, so that retries have no further effect. */
  readonly keyed?: boolean
  /** The ETag of the record that the page shows, which the request has as `If-Match`. */
  readonly version?: string | undefined
  /** The action that the form runs, and whether its response is shown rather than the page again. */
  readonly runs?: { readonly summary: string; readonly hasResult: boolean }
  readonly fields: Html
}

/** A dialog with a form that the script sends to the API as JSON, like any client. */
export function dialog({
  id,
  title,
  method,
  path,
  next,
  action,
  fields,
  keyed = false,
  version,
  runs,
}: FormParts): Html {
  const tone = method === 'DELETE' && !runs ? 'danger' : 'primary'
  return html`<dialog id="${id}" aria-labelledby="heading-${id}">
<form data-method="${method}" data-path="${path}"${next !== undefined && html` data-next="${next}"`}${keyed && html` data-keyed`}${version !== undefined && html` data-version="${version}"`}${runs && html` data-runs="${runs.summary}"`}${runs?.hasResult && html` data-result`} autocomplete="off" novalidate>
<header><h2 id="heading-${id}">${title}</h2><p class="line">${badge(method)} <code class="url">${path}</code></p></header>
<div class="fields"><div class="alert" role="alert" hidden></div>
${fields}
<details class="preview"><summary>curl</summary><pre tabindex="0" data-curl></pre></details></div>
<footer><button type="button" class="plain" data-close>Cancel</button> <button class="${tone}">${action}</button></footer>
</form></dialog>`
}

interface Opening {
  readonly tone: 'primary' | 'danger' | 'plain'
  readonly accessKey?: string | undefined
}

/** The button that opens a dialog; hidden without JavaScript. */
export function opener(id: string, words: string, { tone, accessKey }: Opening): Html {
  return html`<button type="button" class="js ${tone}" data-open="${id}"${keyOf(accessKey)}>${words}</button>`
}

/** A link that looks like a button. */
export function buttonLink(url: string, words: string, accessKey: string | undefined): Html {
  return html`<a class="button" href="${url}"${keyOf(accessKey)}>${words}</a>`
}

function keyOf(accessKey: string | undefined): Html | false {
  return accessKey !== undefined && html` accesskey="${accessKey}"`
}

interface Deletion {
  readonly path: string
  /** The path of the list that the record is in. */
  readonly list: string | undefined
  readonly what: string
  readonly version?: string | undefined
  /** What happens to other records. */
  readonly consequences?: Html | undefined
}

/** The dialog that deletes a record. */
export function deletion({ path, list, what, version, consequences }: Deletion): Html {
  return dialog({
    id: 'delete',
    title: `Delete ${what}?`,
    method: 'DELETE',
    path,
    next: list === undefined ? '/explore/' : ROOT + list,
    action: 'Delete',
    version,
    fields: html`${consequences}<p>This cannot be undone.</p>`,
  })
}

/** A dialog for a request without a declared body: JSON, prefilled with a likely value. */
export function bodyDialog(method: Method, path: string, text: string): Html {
  const id = `send-${method.toLowerCase()}`
  return dialog({
    id,
    title: `${method} ${path}`,
    method,
    path,
    action: 'Send',
    fields: html`<div class="field"><div class="label"><label for="${id}-body">Body</label> <span class="dim">JSON</span></div>
<textarea id="${id}-body" class="code" data-body rows="12" spellcheck="false">
${text}</textarea></div>`,
  })
}
