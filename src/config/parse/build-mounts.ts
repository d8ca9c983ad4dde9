import { dialectOf } from '../../dialects/index.js'
import { featuresAtMount } from '../../features/index.js'
import { mountName } from './mount-name.js'
import { joinedIdOf, type MountSpec, type ResourceSpec } from '../spec.js'
import type { MountYaml } from '../schema/yaml-shape.js'

/** The default place and dialect of resources. */
export interface ApiPlace {
  readonly prefix: string
  readonly dialect: string
  readonly maxBody: number
}

/** All resources again: records show and accept the links of their own mount. */
export const buildMount = (yaml: MountYaml, resources: readonly ResourceSpec[], { prefix }: ApiPlace): MountSpec => {
  const within = (name: string) => `${mountName(yaml.path)}:${name}`
  const details = new Set(resources.map(({ name }) => `${name}-detail`))
  const linksWithin = (links: ResourceSpec['links']) =>
    Object.fromEntries(
      Object.entries(links).map(([field, route]) => [field, details.has(route) ? within(route) : route]),
    )
  const atMount = (resource: ResourceSpec): ResourceSpec => {
    const dialect = yaml.dialect === undefined ? resource.dialect : dialectOf(yaml.dialect)
    return {
      ...resource,
      name: within(resource.name),
      mounted: resource.name,
      path: yaml.path + resource.path.slice(prefix.length),
      dialect,
      joinedId: joinedIdOf(resource.model, dialect),
      links: linksWithin(resource.links),
      ...featuresAtMount(resource, { resource: within, links: linksWithin }),
    }
  }
  return { path: yaml.path, resources: resources.map(atMount) }
}
