import { basename, resolve } from 'node:path'
import type { Context } from '../http/route.js'
import type { Resource } from '../resource/resource.js'
import { countOf, MAX_COUNTED } from './lists/count.js'
import { type Html, html } from './html.js'
import { pluginPaths, seenBy } from './caller.js'
import { badge, layout } from './layout.js'
import { curlOf, type Explored, findPlace, ROOT } from './place.js'
import { Problem } from '../foundation/problem.js'
import { shellWord } from '../foundation/shell-word.js'

/** The home page: the resources, and the routes of plugins. */
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
<p class="lead">This is an HTTP API over PostgreSQL, made from the models and resources of <code>${basename(explored.file)}</code>. Here you read
and change its records.</p>
${databaseProblem(database)}${sources(explored, database)}
${
  rows.length > 0 &&
  html`<h2>Resources</h2>
<div class="table" role="region" aria-label="Resources" tabindex="0"><table><thead><tr><th scope="col">Resource</th><th scope="col" class="number">Records</th><th scope="col">Path</th><th scope="col">Operations</th></tr></thead><tbody>${rows}</tbody></table></div>`
}
${empty.length > 0 && html`<p class="actions">${empty}</p>`}
${
  paths.length > 0 &&
  html`<h2>Routes of plugins</h2>
<div class="table" role="region" aria-label="Routes of plugins" tabindex="0"><table><thead><tr><th scope="col">Path</th><th scope="col">Methods</th><th scope="col">Source</th></tr></thead><tbody>${paths.map((path) => pluginRow(explored, path))}</tbody></table></div>`
}
${explored.development && addition(explored)}
<h2>Use the API</h2>
<p class="lead">The page <code>/explore/api/…</code> shows the response of <code>/api/…</code>, which is JSON. For programs there are
<a href="/docs/">Swagger UI</a> and the OpenAPI document <a href="/openapi.json">/openapi.json</a>.</p>
${example !== undefined && html`<pre tabindex="0">${curlOf(explored, origin + example)}</pre>`}`
  return { status: 'problem' in database ? 503 : 200, text: layout(explored, { title: explored.title, main }) }
}

function databaseProblem(database: DatabaseState): Html | undefined {
  return 'problem' in database
    ? html`<section class="rejection" aria-label="Database"><h2>The database does not respond</h2><p>${database.problem}</p></section>`
    : undefined
}

/** Where the resources are declared and their records are stored; undefined in production. */
function sources({ file, development, database }: Explored, state: DatabaseState): Html | undefined {
  if (!development) return undefined
  const place = database?.()?.description
  return html`<dl class="record"><div><dt>Declared in</dt><dd><code>${file}</code>, which <code>snippetctl serve</code> loads again when it is saved</dd></div>
<div><dt>Stored in</dt><dd>${place}${'problem' in state ? '' : html`${place && '; '}PostgreSQL ${state.version}, which responds in ${rounded(state.milliseconds)} ms`}</dd></div></dl>`
}

function rounded(milliseconds: number): string {
  return milliseconds < 10 ? milliseconds.toFixed(1) : String(Math.round(milliseconds))
}

const ADDITIONS = [
  ['author', 'name:string! born:date'],
  ['event', 'name:string! starts_on:date'],
  ['note', 'content:text!'],
] as const

/** The commands that add a resource, if possible one whose name is not taken. On a PostgreSQL server, they also write and apply the migration that creates its table. */
function addition({ file, resources, database }: Explored): Html {
  const taken = resources.flatMap(({ spec }) => [spec.name, spec.model.name])
  const [name, fields] = ADDITIONS.find(([each]) => !taken.includes(each)) ?? ADDITIONS[0]
  const config = resolve(file) === resolve('resources.yaml') ? '' : ` --config ${shellWord(file)}`
  const migrations = `
npx snippetctl migrate plan${config} --write add_${name}
npx snippetctl migrate up${config}`
  return html`<h2>Add a resource</h2>
<p class="lead">Declare it in the file, or let this command do that:</p>
<pre tabindex="0">npx snippetctl add resource${config} ${name} ${fields}${database?.()?.whenPending === 'reject' && migrations}</pre>`
}

function resourceRow(explored: Explored, resource: Resource, count: string | undefined): Html {
  const { name, path, operations: all } = resource.spec
  const operations = all.filter(seenBy(explored, resource, explored.caller).may)
  const link =
    operations.includes('list') || operations.includes('create')
      ? html`<a href="${ROOT + path}">${name}</a>`
      : html`${name}`
  return html`<tr><td>${link}</td><td class="number">${count ?? '–'}</td><td><code>${path}</code></td><td class="dim wraps">${operations.join(', ')}</td></tr>`
}

function pluginRow(explored: Explored, path: string): Html {
  const routes = [...explored.routes].filter((route) => route.path === path)
  const place = path.includes('{') ? undefined : findPlace(explored, path)
  const shown = html`<code>${path}</code>`
  return html`<tr><td>${place ? html`<a href="${ROOT + path}">${shown}</a>` : shown}</td><td>${routes.map(({ method }) => html`${badge(method)} `)}</td><td class="dim">${routes[0]?.source ?? ''}</td></tr>`
}

/** Whether the database responds. */
export type DatabaseState =
  | { readonly version: string; readonly milliseconds: number }
  /** Why it does not. */
  | { readonly problem: string }

/** Queries the version of the database, and measures how long that takes. */
export async function databaseState(context: Context): Promise<DatabaseState> {
  const started = performance.now()
  try {
    const rows: unknown = await context.service.unscopedKnex.raw(`select current_setting('server_version') as version`)
    const [row] = (rows as { readonly rows: readonly { readonly version: string }[] }).rows
    return { version: row?.version ?? '', milliseconds: performance.now() - started }
  } catch (error) {
    if (!(error instanceof Problem) || error.type === 'internal') throw error
    return { problem: error.message }
  }
}
