import { dialectOf } from '../../../dialects/index.js'
import { featuresAtMount } from '../../../features/index.js'
import { fitsDialect } from '../dialect-gaps.js'
import { mountName } from '../check/check-mounts.js'
import { addedIdOf, type MountSpec, type ResourceSpec } from '../../spec.js'
import type { MountYaml } from '../../schema/yaml-shape.js'

/** The default place and dialect of resources. */
export interface ApiPlace {
  readonly prefix: string
  readonly dialect: string
  readonly maxBody: number
}

/** The resources again, without those that the dialect cannot serve: records show and accept the links of their own mount. */
export function buildMount(yaml: MountYaml, resources: readonly ResourceSpec[], { prefix }: ApiPlace): MountSpec {
  const dialectAt = (resource: ResourceSpec) =>
    yaml.dialect === undefined ? resource.dialect : dialectOf(yaml.dialect)
  const served = resources.filter((resource) => fitsDialect(resource, dialectAt(resource)))
  const names = new Set(served.map(({ name }) => name))
  const within = (name: string) => `${mountName(yaml.path)}:${name}`
  const resourceWithin = (name: string) => (names.has(name) ? within(name) : name)
  const details = new Set(resources.map(({ name }) => `${name}-detail`))
  const linksWithin = (links: ResourceSpec['links']) =>
    Object.fromEntries(
      Object.entries(links).map(([field, route]) => [field, details.has(route) ? within(route) : route]),
    )
  const atMount = (resource: ResourceSpec): ResourceSpec => {
    const dialect = dialectAt(resource)
    return {
      ...resource,
      name: within(resource.name),
      mounted: resource.name,
      path: yaml.path + resource.path.slice(prefix.length),
      dialect,
      addedId: addedIdOf(resource.model, dialect),
      links: linksWithin(resource.links),
      ...featuresAtMount(resource, { resource: resourceWithin, links: linksWithin }),
    }
  }
  return { path: yaml.path, resources: served.map(atMount) }
}
