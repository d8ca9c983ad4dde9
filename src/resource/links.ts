import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import type { Json } from '../json.js'

/** What a resource asks of the table of named routes. */
export interface Links {
  /** What stands before and after the id in the path of a route; undefined when no route has the name. */
  template(routeName: string): readonly [prefix: string, suffix: string] | undefined
  /** The route a path leads to, and its parameters as they stand in the path. */
  resolve(path: string): { readonly name: string; readonly params: Readonly<Record<string, string>> } | undefined
}

/** The route that shows one record of a resource. */
export function detailName(resource: string): string {
  return `${resource}-detail`
}

/** Reads the value of a relation given as a link; undefined when the field takes none or the text leads elsewhere. */
export type LinkReader = (field: FieldSpec, value: Json) => unknown

/** A relation shown as a link is accepted as the same link: what was read can be sent back. */
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

/** The routes as links lead to them: by their paths, and by URLs of this service. */
export function linksAt(routes: Links, publicUrl: string | undefined): Links {
  if (publicUrl === undefined) return routes
  return {
    template: (name) => routes.template(name),
    resolve: (link) => routes.resolve(link.startsWith(`${publicUrl}/`) ? link.slice(publicUrl.length) : link),
  }
}
