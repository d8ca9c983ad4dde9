import type { Resource } from '../resource/resource.js'
import { METHODS, type Method, resourceAt, type Route } from '../http/route.js'
import type { RouteTable } from '../http/route-table.js'

/** What Explore is made of: the compiled application, as far as a page shows it. */
export interface Explored {
  /** Absolute path of resources.yaml, beside which packages are looked for. */
  readonly file: string
  readonly title: string
  readonly resources: readonly Resource[]
  readonly routes: RouteTable
}

/** Where every page of Explore is: the page of `/api/books/` is `/explore/api/books/`. */
export const ROOT = '/explore'

/** A path of the API that routes take. */
export interface Place {
  /** As it stands in the URL, closed by a slash. */
  readonly path: string
  /** With `{parameter}`s. */
  readonly template: string
  readonly methods: readonly Method[]
  readonly source: string
  readonly params: Readonly<Record<string, string>>
  /** Whose list or record is here; undefined for what a plugin answers. */
  readonly resource: Resource | undefined
}

/** What is at a path of the API; undefined where no route is. */
export function findPlace({ routes }: Explored, path: string): Place | undefined {
  const closed = path.endsWith('/') ? path : `${path}/`
  const found = METHODS.flatMap((method) => {
    const match = routes.match(method, closed)
    return match && 'route' in match ? [match] : []
  })
  const [first] = found
  if (!first) return undefined
  const { path: template, source } = first.route
  const methods = found.map(({ route }) => route.method)
  const { generated } = first.route
  // Where several records are made, or parts of them are read, there is no list or record to show.
  const resource = generated?.bulk || generated?.partial ? undefined : resourceAt(first.route)
  return { path: closed, template, methods, source, params: first.params, resource }
}

/** Whether a place is one record rather than a collection: its path ends with a parameter. */
export function isRecord({ template }: Place): boolean {
  return template.endsWith('}/')
}

/** The route of one of the records that a place lists, and the member that identifies them. */
export function recordRoute({ routes }: Explored, { template }: Place): { route: Route; key: string } | undefined {
  for (const route of routes) {
    if (route.method !== 'GET' || !route.path.startsWith(template)) continue
    const key = /^\{([^}]+)\}\/$/.exec(route.path.slice(template.length))?.[1]
    if (key !== undefined) return { route, key }
  }
  return undefined
}

/** The path that is one segment shorter; undefined where nothing can be read. */
export function collectionOf({ routes }: Explored, { path }: Place): string | undefined {
  const parent = path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
  const match = parent === '/' ? undefined : routes.match('GET', parent)
  return match && 'route' in match ? parent : undefined
}

/** A command that repeats a request, for any shell of POSIX. */
export function curlOf(url: string): string {
  return `curl -s '${url.replaceAll("'", `'\\''`)}'`
}
