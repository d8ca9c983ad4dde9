import type { ResourceSpec } from '../config/spec.js'
import type { LinkReader } from '../features/feature.js'

/** What a resource needs from the route table. */
export interface Links {
  /** The text before and after the id in the path of a route; undefined if the name is unknown. */
  template(routeName: string): readonly [prefix: string, suffix: string] | undefined
  /** The route of a path, and its parameters as they appear in the path. */
  resolve(path: string): { readonly name: string; readonly params: Readonly<Record<string, string>> } | undefined
}

/** The name of the route for one record of a resource. */
export function detailName(resource: string): string {
  return `${resource}-detail`
}

/** Accepts relations in the form in which they are shown, so that clients can send back what they read. */
export function acceptsLink(spec: ResourceSpec, links: Links): LinkReader {
  return (field, value) => {
    const routeName = spec.links[field.name]
    if (routeName === undefined || typeof value !== 'string' || !value.includes('/')) return undefined
    const target = links.resolve(value)
    if (target?.name !== routeName) return undefined
    const [text = ''] = Object.values(target.params)
    return field.type.parse(text, field.options)
  }
}

/** Resolves links given as paths or as URLs of this service. */
export function linksAt(routes: Links, publicUrl: string | undefined): Links {
  if (publicUrl === undefined) return routes
  return {
    template: (name) => routes.template(name),
    resolve: (link) => routes.resolve(link.startsWith(`${publicUrl}/`) ? link.slice(publicUrl.length) : link),
  }
}
