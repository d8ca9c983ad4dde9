import type { Handler, Method, Route } from '../http/route.js'
import { encodeReply } from '../http/headers/encodings.js'
import type { Match } from '../http/route-table.js'
import { Problem } from '../foundation/problem.js'
import type { Explored, ServedDatabase } from './place.js'

/** The HTML pages, for paths that no route of the application takes. */
export interface Pages {
  match(method: string, path: string): Match
  /** Shows on every page that the last saved configuration is not served, and why. */
  warn(failure: string): void
  /** Loads the modules of the pages, so that the first page does not wait for them. */
  prepare(): Promise<void>
  /** Shows on the home page where the records are stored. */
  nameDatabase(database: ServedDatabase): void
}

const ASSETS = [
  'explore.css',
  'explore.js',
  'explore-list.js',
  'explore-record.js',
  'explore-sign-in.js',
  'explore.svg',
]
const DOCS_ASSETS = ['docs.css', 'docs.js', 'favicon-32x32.png', 'swagger-ui-bundle.js', 'swagger-ui.css']
const READS: readonly Method[] = ['GET']

/**
 * The pages of an application: `/`, `/explore` followed by an API path, and `/docs`. Their paths accept only GET; their forms send changes to the API.
 * Their modules are loaded by `prepare`, or with the first request for a page or a static file. `surround` adds the grants and the middleware of
 * plugins to pages, but not to static files. A caller who has to sign in gets a form for it.
 */
export function createExplore(given: Explored, surround: (page: Handler) => Handler): Pages {
  let failure: string | undefined
  let served: ServedDatabase | undefined
  const explored = { ...given, reloadFailure: () => failure, database: () => served }
  const load = () => import('./pages.js')
  const route = (name: string, path: string, handle: Route['handle']): Route =>
    Object.freeze({ name, method: 'GET', path, handle, source: 'explore' })
  const guarded = (page: Handler): Handler => {
    const surrounded = surround(page)
    const handle: Handler = async (context) => encodeReply(await surrounded(context), context)
    if (!explored.auth) return handle
    return async (context) => {
      try {
        return await handle(context)
      } catch (error) {
        if (!(error instanceof Problem) || error.type !== 'unauthorized') throw error
        return (await load()).signInPage(explored, error)
      }
    }
  }
  const home = route(
    'explore-home',
    '/explore/',
    guarded(async (context) => (await load()).home(explored, context)),
  )
  const page = route(
    'explore-page',
    '/explore/{path}',
    guarded(async (context) => (await load()).page(explored, context)),
  )
  const schema = route(
    'explore-schema',
    '/explore/~schema/{resource}',
    guarded(async (context) => (await load()).schema(explored, context)),
  )
  const file = route('explore-file', '/explore/{file}', async (context) => (await load()).file(context))
  const docs = route(
    'docs',
    '/docs/',
    guarded(async (context) => (await load()).docsPage(explored, context)),
  )
  const docsFile = route('docs-file', '/docs/{file}', async (context) => (await load()).docsFile(explored, context))

  const find = (path: string): Extract<Match, { readonly route: Route }> | undefined => {
    if (path === '/' || path === '/explore' || path === '/explore/') return { route: home, params: {} }
    if (path === '/docs' || path.startsWith('/docs/')) return findDocs(path.slice('/docs/'.length))
    if (!path.startsWith('/explore/')) return undefined
    const rest = path.slice('/explore'.length)
    const [, resource] = /^\/~schema\/([^/]+)\/?$/.exec(rest) ?? []
    if (resource !== undefined) return { route: schema, params: { resource } }
    if (ASSETS.includes(rest.slice(1))) return { route: file, params: { file: rest.slice(1) } }
    return { route: page, params: { path: rest } }
  }
  const findDocs = (file: string) => {
    if (file === '') return { route: docs, params: {} }
    return DOCS_ASSETS.includes(file) ? { route: docsFile, params: { file } } : undefined
  }
  return Object.freeze({
    match(method: string, path: string): Match {
      const found = find(path)
      return found && method !== 'GET' && method !== 'HEAD' ? { allow: READS, options: undefined } : found
    },
    warn(words: string): void {
      failure = words
    },
    async prepare(): Promise<void> {
      await load()
    },
    nameDatabase(database: ServedDatabase): void {
      served = database
    },
  })
}
