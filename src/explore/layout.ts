import { assetUrl } from './assets/assets.js'
import { pluginPaths, seenBy } from './caller.js'
import { type Html, html, markupOf } from './html.js'
import { type Explored, ROOT } from './place.js'
import { callerOf, signInScript, callerMenu } from './sign-in.js'

interface Page {
  readonly title: string
  /** The API path that the page is about. */
  readonly path?: string
  readonly main: Html
  /** Whether its content is the form to sign in. */
  readonly asksToSignIn?: true
  /** The script that only this kind of page needs. */
  readonly script?: 'explore-list.js' | 'explore-record.js'
}

/** The HTML document around the content of every page. */
export function layout(explored: Explored, { title, path, main, script, asksToSignIn }: Page): string {
  const page = html`<!doctype html>
<html lang="en"${callerOf(explored)}>
<head>
<meta charset="utf-8">${signInScript(explored)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === explored.title ? title : `${title} · ${explored.title}`}</title>
<link rel="icon" href="${assetUrl('explore.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('explore.css')}">
<script src="${assetUrl('explore.js')}" defer></script>${
    script &&
    html`
<script src="${assetUrl(script)}" defer></script>`
  }
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="home" href="/explore/"><img src="${assetUrl('explore.svg')}" alt="" width="22" height="22"> ${explored.title}</a>${!asksToSignIn && callerMenu(explored)}</header>
<nav aria-label="Resources and routes">${navigation(explored, path)}</nav>
<main id="main" tabindex="-1">${warning(explored)}${main}</main>
<p id="status" role="status"></p>
</body>
</html>
`
  return markupOf(page)
}

/** A warning that the pages show an older configuration, because a reload has failed. */
function warning({ reloadFailure }: Explored): Html | undefined {
  const failure = reloadFailure?.()
  return failure === undefined
    ? undefined
    : html`<section class="rejection" aria-label="Reload"><h2>The file that was saved last is not served</h2><p>${failure}</p></section>`
}

/** Links to the resources, and to routes of plugins without parameters. The page of a record marks its resource. */
function navigation(explored: Explored, current: string | undefined): Html {
  const lists = explored.resources.filter((resource) => seenBy(explored, resource, explored.caller).may('list'))
  const others = pluginPaths(explored).filter((path) => !path.includes('{'))
  const items = (entries: readonly (readonly [path: string, name: string])[]) =>
    entries.map(
      ([path, name]) =>
        html`<li><a href="${ROOT + path}"${path === current ? html` aria-current="page"` : path === explored.near && html` aria-current="true"`}>${name}</a></li>`,
    )
  return html`${lists.length > 0 && html`<h2>Resources</h2><ul>${items(lists.map(({ spec }) => [spec.path, spec.name]))}</ul>`}
${others.length > 0 && html`<h2>Plugins</h2><ul>${items(others.map((path) => [path, path]))}</ul>`}`
}

/** The label for a method. */
export function badge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`
}

/** No foreign resources, no inline code, no frames; forms are sent only to the page's own origin. */
function policyWith(images: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${images}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The headers of an HTML page; `images` is the allowed source of images. */
export function pageHeaders(images = "'self'"): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyWith(images),
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
}
