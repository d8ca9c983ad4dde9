import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context, Reply } from '../http/route.js'
import { Problem } from '../foundation/problem.js'
import { remember } from '../foundation/remember.js'
import { html, markupOf } from './html.js'
import { addressOf, editionOf, type KeptFile, keptFile } from './assets/cached-file.js'
import { exploredBy } from './caller.js'
import { layout, pageHeaders } from './layout.js'
import { callerOf, signInScript } from './sign-in.js'
import type { Explored } from './place.js'
import { findManifest, PACKAGE } from './swagger-ui.js'

/** `--ignore-scripts`: the package's installation script only sends usage data to its authors. */
const INSTALL = `npm install --ignore-scripts ${PACKAGE}`

/** Swagger UI's style sheet contains its images. */
const HEADERS = pageHeaders("'self' data:")

/**
 * Starts Swagger UI without the online validator and without other documents, in the colour scheme of the reader's system. It corrects accessibility
 * violations of the package: the plugin `accessible` adds a missing heading level and removes links from buttons; `nameSelects` and `onComplete` add
 * missing names.
 */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', colour)
colour()
// The package gives the select of a list parameter no accessible name.
const nameSelects = () => {
  for (const row of document.querySelectorAll('tr[data-param-name]'))
    for (const select of row.querySelectorAll('select:not([aria-label])')) select.setAttribute('aria-label', row.dataset.paramName)
}
const accessible = ({ React: { createElement } }) => ({
  wrapComponents: {
    operations: (Operations) => (props) => createElement('div', null, createElement('h2', { className: 'unseen' }, 'Operations'), createElement(Operations, props)),
    OperationSummaryPath: (Path) => ({ operationProps, ...props }) => createElement(Path, { ...props, operationProps: operationProps.set('isDeepLinkingEnabled', false) }),
  },
})
window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  plugins: [accessible],
  onComplete: () => {
    nameSelects()
    new MutationObserver(nameSelects).observe(document.querySelector('#swagger-ui'), { childList: true, subtree: true })
    const names = { '#servers': 'Server', '.information-container section': 'About the API', '.scheme-container section': 'Servers' }
    for (const [selector, name] of Object.entries(names)) document.querySelector(selector)?.setAttribute('aria-label', name)
  },
})
`
const STYLE = `html { overflow-y: scroll }
body { margin: 0; background: #fafafa }
.dark-mode body { background: #1c2022 }
nav { padding: .8rem 20px 0; max-width: 1460px; margin: auto; font: 15px system-ui, sans-serif }
nav a { color: #3451d1 }
.dark-mode nav a { color: #9db2ff }
/* Only for screen readers. */
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 30rem) {
  .swagger-ui .response-col_links { min-width: 0; }
  .swagger-ui .responses-inner, .swagger-ui .parameters-container { overflow-x: auto; }
}
/* A link to a page about licences; the document states none. */
.info__license { display: none }
/* Some colours of the package have too little contrast in light pages. */
html:not(.dark-mode) .opblock .opblock-summary-method, html:not(.dark-mode) .info .title small pre { color: #000; text-shadow: none }
html:not(.dark-mode) .info .title small { background: #c3c9d4 }
html:not(.dark-mode) .info .title small.version-stamp { background: #89bf04 }
/* The numbers of an example, and in dark pages the headers of a response. */
.microlight span[style*='211, 99, 99'] { color: #ffa3a3 !important }
.dark-mode .swagger-ui .headers td.header-col { color: #cfd6e1 }
html:not(.dark-mode) .info .url { color: #2258a8 }
html:not(.dark-mode) .parameter__in, html:not(.dark-mode) .json-schema-2020-12-expand-deep-button { color: #4d4d4d }
`
const OURS: Readonly<Record<string, string>> = { 'docs.css': STYLE, 'docs.js': START }

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
}

/** The requested files by name, kept so that each is compressed only once. */
const filesOf = remember((_: Explored) => new Map<string, KeptFile>())

interface SwaggerUi {
  readonly folder: string
  readonly version: string
}

/** Shows the OpenAPI document in Swagger UI, or how to install Swagger UI if it cannot be resolved from the folder of resources.yaml. */
export async function docsPage(all: Explored, context: Context): Promise<Reply> {
  const explored = exploredBy(all, context)
  const found = await findSwaggerUi(explored)
  if (!found) return { status: 404, headers: HEADERS, text: missing(explored) }
  const url = (name: string) => addressOf(`/docs/${name}`, editionIn(found, name))
  const page = html`<!doctype html>
<html lang="en"${callerOf(explored)}>
<head>
<meta charset="utf-8">${signInScript(explored)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documentation · ${explored.title}</title>
<link rel="icon" href="${url('favicon-32x32.png')}" type="image/png">
<link rel="stylesheet" href="${url('swagger-ui.css')}">
<link rel="stylesheet" href="${url('docs.css')}">
<script src="${url('swagger-ui-bundle.js')}" defer></script>
<script src="${url('docs.js')}" defer></script>
</head>
<body>
<nav aria-label="Pages"><a href="/explore/">← Explore</a></nav>
<div id="swagger-ui"></div>
<noscript><p>This page needs JavaScript; <a href="/explore/">Explore</a> works without it, and <a href="/openapi.json">the document</a> is JSON.</p></noscript>
</body>
</html>
`
  return { status: 200, headers: HEADERS, text: markupOf(page) }
}

/**
 * Responds with a file of the page.
 * @throws Problem `not_found` if Swagger UI is not installed
 */
export async function docsFile(explored: Explored, context: Context): Promise<Reply> {
  const found = await findSwaggerUi(explored)
  if (!found) throw new Problem('not_found', `${PACKAGE} is not installed: ${INSTALL}`)
  const { file = '' } = context.params
  const tag = editionIn(found, file)
  const known = filesOf(explored)
  const kept = known.get(file)
  if (kept?.tag === tag) return keptFile(kept, context)
  const text = OURS[file] ?? (await readFile(join(found.folder, file)))
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? ''
  const read = { type, text, tag }
  known.set(file, read)
  return keptFile(read, context)
}

/** Our own files are versioned by a hash of their content, files of the package by its version. */
function editionIn({ version }: SwaggerUi, name: string): string {
  const own = OURS[name]
  return own === undefined ? version : editionOf(own)
}

/** Looked up for each request, so that a new installation is found. */
async function findSwaggerUi({ file }: Explored): Promise<SwaggerUi | undefined> {
  const manifest = findManifest(file)
  if (manifest === undefined) return undefined
  try {
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly version: string }
    return { folder: dirname(manifest), version }
  } catch {
    return undefined
  }
}

function missing(explored: Explored): string {
  const main = html`<div class="head"><h1>Swagger UI is not installed</h1></div>
<p>To see <a href="/openapi.json">/openapi.json</a> on this page, run this command in the folder of <code>resources.yaml</code>,</p>
<pre tabindex="0">${INSTALL}</pre>
<p>and reload the page. <a href="/explore/">Explore</a> shows the API without it.</p>`
  return layout(explored, { title: 'Swagger UI is not installed', main })
}
