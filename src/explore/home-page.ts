import { basename } from 'node:path'
import type { Context } from '../http/route.js'
import type { Resource } from '../resource/resource.js'
import { countOf, MAX_COUNTED } from './count.js'
import { type DatabaseState, databaseState } from './database-state.js'
import { type Html, html } from './html.js'
import { pluginPaths, seenBy } from './caller.js'
import { badge, layout } from './layout.js'
import { curlOf, type Explored, findPlace, ROOT } from './place.js'

/** The home page: every resource and every route. */
export async function homePage(
  explored: Explored,
  context: Context,
  origin: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const database = await databaseState(context)
  const counts = await Promise.all(
    explored.resources.map((resource, index) =>
      index < MAX_COUNTED && !('problem' in database)
        ? countOf(explored, context, resource)
        : Promise.resolve(undefined),
    ),
  )
  const rows = explored.resources.map((resource, index) => resourceRow(explored, resource, counts[index]))
  const paths = pluginPaths(explored)
  const empty = explored.resources.flatMap((resource, index) =>
    counts[index] === '0' && seenBy(explored, resource, explored.caller).may('create')
      ? [html`<a class="button" href="${ROOT + resource.spec.path}#create">Create your first ${resource.spec.name}</a>`]
      : [],
  )
  const example = explored.resources.find(({ spec }) => spec.operations.includes('list'))?.spec.path ?? paths[0]
  const main = html`<div class="head"><h1>${explored.title}</h1></div>
${databaseWords(explored, database)}${origins(explored)}
<p class="lead">Every page below <code>/explore</code> shows the API's response at the rest of its path: <code>/explore/api/…</code> is the page of
<code>/api/…</code>, which itself returns JSON.</p>
${
  rows.length > 0 &&
  html`<h2>Resources</h2>
<div class="table" role="region" aria-label="Resources" tabindex="0"><table><thead><tr><th scope="col">Resource</th><th scope="col">Path</th><th scope="col">Operations</th><th scope="col" class="number">Records</th></tr></thead><tbody>${rows}</tbody></table></div>`
}
${
  paths.length > 0 &&
  html`<h2>Routes of plugins</h2>
<div class="table" role="region" aria-label="Routes of plugins" tabindex="0"><table><thead><tr><th scope="col">Path</th><th scope="col">Methods</th><th scope="col">Source</th></tr></thead><tbody>${paths.map((path) => pluginRow(explored, path))}</tbody></table></div>`
}
<p>For clients: <a href="/docs/">Swagger UI</a>, and the OpenAPI document that it shows, <a href="/openapi.json">/openapi.json</a>.</p>
<h2>Try next</h2>
${empty.length > 0 && html`<p class="actions">${empty}</p>`}
<pre tabindex="0">${example !== undefined && `${curlOf(origin + example)}\n`}npx snippetctl routes
npx snippetctl check</pre>`
  return { status: 'problem' in database ? 503 : 200, text: layout(explored, { title: explored.title, main }) }
}

/** What the API is, and the file that it is made from. */
function origins({ file, development, reloadFailure }: Explored): Html {
  const about = html`<p class="lead">This is an HTTP API over PostgreSQL, made from the models and resources of <code>${basename(file)}</code>.`
  if (!development || !reloadFailure) return html`${about}</p>`
  return html`${about} The file is <code>${file}</code>: <code>snippetctl serve</code> loads it again when it is saved.
<code>npx snippetctl add resource author name:string! born:date</code> adds a resource to it.</p>`
}

function databaseWords({ development }: Explored, database: DatabaseState): Html | undefined {
  if ('problem' in database)
    return html`<section class="rejection" aria-label="Database"><h2>The database does not respond</h2><p>${database.problem}</p></section>`
  const ms = database.milliseconds < 10 ? database.milliseconds.toFixed(1) : Math.round(database.milliseconds)
  return development ? html`<p class="facts dim">PostgreSQL ${database.version} responds in ${ms} ms.</p>` : undefined
}

function resourceRow(explored: Explored, resource: Resource, count: string | undefined): Html {
  const { name, path, operations: all } = resource.spec
  const operations = all.filter(seenBy(explored, resource, explored.caller).may)
  const link =
    operations.includes('list') || operations.includes('create')
      ? html`<a href="${ROOT + path}">${name}</a>`
      : html`${name}`
  return html`<tr><td>${link}</td><td><code>${path}</code></td><td class="dim">${operations.join(', ')}</td><td class="number">${count ?? '–'}</td></tr>`
}

function pluginRow(explored: Explored, path: string): Html {
  const routes = [...explored.routes].filter((route) => route.path === path)
  const place = path.includes('{') ? undefined : findPlace(explored, path)
  const shown = html`<code>${path}</code>`
  return html`<tr><td>${place ? html`<a href="${ROOT + path}">${shown}</a>` : shown}</td><td>${routes.map(({ method }) => html`${badge(method)} `)}</td><td class="dim">${routes[0]?.source ?? ''}</td></tr>`
}
