import { STATUS_CODES } from 'node:http'
import type { ApiResponse } from './ask.js'
import { type Exact, isMembers, printJson } from './records/exact-json.js'
import { type Html, html } from './html.js'
import { badge } from './layout.js'

interface RequestBarParts {
  readonly curl: string
  /** Path and query. */
  readonly url: string
  readonly answer: ApiResponse
}

/** Shows the page's API request, the status of its response, and how to repeat it. */
export function requestBar({ curl, url, answer }: RequestBarParts): Html {
  const { status, headers, milliseconds } = answer
  return html`<section class="request" aria-label="Request">
<p class="line">${badge('GET')} <code class="url">${url}</code>
<span class="status s${Math.floor(status / 100)}">${status} ${STATUS_CODES[status] ?? ''}</span>
<span class="dim"><span class="type">${headers.get('content-type') ?? ''} · </span>${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms</span>
<span class="push"><a class="button small" href="${url}">JSON</a>
<button type="button" class="small js" accesskey="c" data-copy="${curl}">Copy curl</button></span></p>
<details><summary>curl</summary><pre tabindex="0">${curl}</pre></details>
</section>`
}

/** Shows a problem: its detail, and the whole document below. */
export function rejection({ status, text }: ApiResponse, value: Exact | undefined): Html {
  return html`<section class="rejection" aria-label="Response"><h2>${status} ${STATUS_CODES[status] ?? ''}</h2>
<p>${detailOf(value) ?? 'The API returned an error.'}</p><pre tabindex="0">${value === undefined ? text : printJson(value, 'lines')}</pre></section>`
}

/** Why the API rejected a request, in its own words. */
export function detailOf(value: Exact | undefined): string | undefined {
  const detail = isMembers(value) ? (value.get('detail') ?? value.get('error')) : undefined
  return typeof detail === 'string' ? detail : undefined
}
