import type { ResourceSpec } from '../../config/spec.js'
import type { LinkReader } from '../../features/feature.js'
import { keyOf, parseSegment } from '../keys/record-key.js'

/** The part of the route table that a resource needs. */
export interface Links {
  /** The texts around the parameters in the path of a route, one more than there are parameters; undefined if the name is unknown. */
  template(routeName: string): readonly string[] | undefined
  /** For each parameter of a route, the words that other paths have at its place. */
  words(routeName: string): readonly (readonly string[])[]
  /** The route of a path, and its parameters as they appear in the path. */
  resolve(path: string): { readonly name: string; readonly params: Readonly<Record<string, string>> } | undefined
}

/** The name of the route for one record of a resource. */
export function detailName(resource: string): string {
  return `${resource}-detail`
}

/** The end of the path of a record, with a parameter for each part of its key. */
export function recordPath(spec: Pick<ResourceSpec, 'model' | 'addedId'>): string {
  return keyOf(spec)
    .parameters.map((name) => `{${name}}/`)
    .join('')
}

/** Accepts relations in the form in which they are shown, so that clients can send back what they read. */
export function acceptsLink(spec: ResourceSpec, links: Links): LinkReader {
  return (field, value) => {
    const routeName = spec.links[field.name]
    if (routeName === undefined || typeof value !== 'string' || !value.includes('/')) return undefined
    const target = links.resolve(value)
    if (target?.name !== routeName) return undefined
    const [segment = ''] = Object.values(target.params)
    return parseSegment(field, segment)
  }
}

/** Resolves links given as paths or as URLs of this service. */
export function linksAt(routes: Links, publicUrl: string | undefined): Links {
  if (publicUrl === undefined) return routes
  return {
    template: (name) => routes.template(name),
    words: (name) => routes.words(name),
    resolve: (link) => routes.resolve(link.startsWith(`${publicUrl}/`) ? link.slice(publicUrl.length) : link),
  }
}
