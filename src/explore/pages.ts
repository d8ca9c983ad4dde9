import type { Context, Reply } from '../http/route.js'
import type { Problem } from '../foundation/problem.js'
import { assetReply } from './assets/assets.js'
import { exploredBy, seenBy } from './caller.js'
import { homePage } from './home-page.js'
import { html } from './html.js'
import { layout, pageHeaders } from './layout.js'
import { type Explored, findPlace } from './place.js'
import { placePage } from './place-page.js'
import { hasSchemaPage, schemaPage } from './schema-page.js'
import { signInMain } from './sign-in.js'

const HEADERS = pageHeaders()

/** The home page. */
export async function home(all: Explored, context: Context): Promise<Reply> {
  const explored = exploredBy(all, context)
  return { headers: HEADERS, ...(await homePage(explored, context, originOf(context))) }
}

/** The page about the schema of a resource. */
export async function schema(all: Explored, context: Context): Promise<Reply> {
  const explored = exploredBy(all, context)
  const { resource: name = '' } = context.params
  const resource = explored.resources.find(({ spec }) => spec.name === name)
  const seen = resource && seenBy(explored, resource, context.identity)
  if (!seen || !hasSchemaPage(seen))
    return { status: 404, headers: HEADERS, text: nowhere(explored, `~schema/${name}`) }
  return { status: 200, headers: HEADERS, text: await schemaPage(explored, seen) }
}

/** The page of an API path. */
export async function page(all: Explored, context: Context): Promise<Reply> {
  const explored = exploredBy(all, context)
  const { path = '' } = context.params
  const place = findPlace(explored, path)
  if (!place) return { status: 404, headers: HEADERS, text: nowhere(explored, path) }
  return { headers: HEADERS, ...(await placePage(explored, place, { context, origin: originOf(context) })) }
}

/** The page for callers who have to sign in first. */
export function signInPage(explored: Explored, problem: Problem): Reply {
  const text = layout(exploredBy(explored, { identity: undefined, headers: {} }), {
    title: 'Sign in',
    main: signInMain(explored, problem),
    asksToSignIn: true,
  })
  return { status: 401, headers: { ...problem.headers, ...HEADERS }, text }
}

export { docsFile, docsPage } from './docs.js'

/** A static file of the pages. */
export function file(context: Context): Promise<Reply> {
  return assetReply(context.params['file'] ?? '', context)
}

function nowhere(explored: Explored, path: string): string {
  const main = html`<div class="head"><h1>Nothing is here</h1></div>
<p>The API has no route for <code>${path}</code>. <a href="/explore/">See all resources</a></p>`
  return layout(explored, { title: 'Nothing is here', main })
}

/** The client's name for the server. Untrusted; it appears only in example commands. */
function originOf(context: Context): string {
  const host = String(context.headers['host'] ?? 'localhost')
  const url = context.publicUrl()
  const known = url === '' ? undefined : new URL(url)
  return known?.host === host ? known.origin : `http://${host}`
}
