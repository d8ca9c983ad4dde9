import type { Database } from '../db/database.js'
import type { Profiles } from '../access/profiles.js'
import type { AuthSpec } from '../config/spec.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import type { ActionDescription } from '../http/registrations/action-description.js'
import { METHODS, type Method, resourceAt, type Route } from '../http/route.js'
import type { RouteTable } from '../http/route-table.js'
import { quoted } from '../foundation/shell-word.js'

/** The records to which the records of a page refer, as far as the caller may see them. */
export interface Related {
  /** Their names, by their paths. */
  readonly names: ReadonlyMap<string, string>
  /** Their paths by the text of the reference, for relations that refer to other fields than the key. */
  readonly references: ReadonlyMap<string, string>
}

/** The compiled application that Explore shows. */
export interface Explored {
  /** The absolute path of resources.yaml; packages are resolved from there. */
  readonly file: string
  readonly title: string
  readonly resources: readonly Resource[]
  readonly routes: RouteTable
  /** The rights of callers; undefined without `auth`. */
  readonly profiles: Profiles | undefined
  /** Undefined without `auth`. */
  readonly auth: AuthSpec | undefined
  /** Whether `NODE_ENV` is not `production`. Pages then show tables, lines to add to the file, and the names of `auth.development`. */
  readonly development: boolean
  /** Who reads the page; undefined for a caller who has not signed in. */
  readonly caller?: Identity | undefined
  /** The option of curl for the reader's credential. */
  readonly credential?: string | undefined
  /** The records to which the records of a page refer. */
  readonly related?: Related
  /** Where the records are; undefined until the application is served. */
  readonly database?: () => ServedDatabase | undefined
  /** Why the configuration was not loaded when it was last saved; undefined if it was. */
  readonly reloadFailure?: () => string | undefined
  /** The path of the resource that a page is about. */
  readonly near?: string | undefined
}

/** The description of an application's database, and whether pending migrations are applied when the file is saved. */
export type ServedDatabase = Pick<Database, 'description' | 'whenPending'>

/** The root of Explore: the page of `/api/books/` is `/explore/api/books/`. */
export const ROOT = '/explore'

/** An API path that has routes. */
export interface ApiPath {
  /** As in the URL, with a trailing slash. */
  readonly path: string
  /** With `{parameter}`s. */
  readonly template: string
  readonly methods: readonly Method[]
  readonly source: string
  readonly params: Readonly<Record<string, string>>
  /** The resource whose list or record is at the path; undefined for routes of plugins. */
  readonly resource: Resource | undefined
  /** The actions that have this path. */
  readonly actions: readonly { readonly method: Method; readonly action: ActionDescription }[]
}

/** Finds the place at an API path; undefined if it has no route. */
export function findPlace({ routes }: Explored, path: string): ApiPath | undefined {
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
  // Bulk and partial routes have no list or record to show, and exports are files.
  const isOther = generated?.bulk || generated?.partial || generated?.exports !== undefined
  const resource = isOther ? undefined : resourceAt(first.route)
  const actions = found.flatMap(({ route: { method, action } }) => (action ? [{ method, action }] : []))
  return { path: closed, template, methods, source, params: first.params, resource, actions }
}

/** Whether the place is a record rather than a collection: its path ends with a parameter. */
export function isRecord({ template }: ApiPath): boolean {
  return template.endsWith('}/')
}

/** Returns the route of the records in a list, and the names of its parameters. */
export function recordRoute(
  { routes }: Explored,
  { template }: ApiPath,
): { route: Route; key: readonly string[] } | undefined {
  for (const route of routes) {
    if (route.method !== 'GET' || !route.path.startsWith(template)) continue
    const rest = route.path.slice(template.length)
    const key = [...rest.matchAll(/\{([A-Za-z0-9_]+)\}/g)].map(([, name = '']) => name)
    // Of two parameters in a plugin's path, the second may belong to a list below the record.
    const showsRecord = route.generated
      ? route.generated.operation === 'retrieve' && !route.generated.partial
      : key.length === 1
    if (showsRecord && key.length > 0 && rest === key.map((name) => `{${name}}/`).join('')) return { route, key }
  }
  return undefined
}

/** Returns the parent path, which for a record is its list; undefined if it cannot be read. */
export function collectionOf({ routes }: Explored, place: ApiPath): string | undefined {
  const { path, resource } = place
  const up = resource && isRecord(place) ? resource.key.parameters.length : 1
  const parent = `${path
    .split('/')
    .slice(0, -1 - up)
    .join('/')}/`
  const match = parent === '/' ? undefined : routes.match('GET', parent)
  return match && 'route' in match ? parent : undefined
}

/** A shell command that repeats a request of the reader. */
export function curlOf({ credential }: Pick<Explored, 'credential'>, url: string): string {
  // Without `-g`, curl expands brackets and braces in a URL.
  const options = /[[\]{}]/.test(url) ? '-gs' : '-s'
  return ['curl', options, quoted(url), ...(credential === undefined ? [] : [credential])].join(' ')
}
