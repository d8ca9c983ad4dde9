import type { Json } from '../../json.js'
import { operationsOf } from './operations.js'
import { type ExpansionSpec, isReading, isShown, type ModelSpec } from '../spec.js'
import { expansionsOf, type ResourceYaml } from '../schema/yaml-shape.js'

/** What expansions are built of: everything that is declared. */
export interface Declared {
  readonly resources: Readonly<Record<string, ResourceYaml>>
  readonly models: ReadonlyMap<string, ModelSpec>
}

/** The related records that a resource offers: those that it refers to, with those that these refer to. */
export const buildExpand = (
  { expand }: ResourceYaml,
  owner: ModelSpec,
  declared: Declared,
): readonly ExpansionSpec[] => {
  const all = expansionsOf(expand as Json | undefined)
  const below = (start: string, from: ModelSpec): readonly ExpansionSpec[] =>
    all
      .filter(({ path }) => path.slice(0, path.lastIndexOf('.') + 1) === start)
      .flatMap(({ path, yaml }): readonly ExpansionSpec[] => {
        const field = from.fields.find(({ name }) => start + name === path)
        const model = declared.models.get(field?.target?.model ?? '')
        if (field === undefined || model === undefined) return []
        const [resource, shown] = resourceOf(model, yaml.resource, declared)
        const visible = model.fields.filter(isShown)
        return [
          {
            path,
            field,
            resource,
            model,
            fields: visible.filter(({ name }) => yaml.fields?.includes(name) ?? true),
            url: (yaml.fields === undefined && shown.url) ?? false,
            links: { ...shown.links },
            expand: below(`${path}.`, model),
          },
        ]
      })
  return below('', owner)
}

/** The one that is named, or the only one that shows the model. */
const resourceOf = (model: ModelSpec, wanted: string | undefined, { resources }: Declared) => {
  const reads = (yaml: ResourceYaml) => operationsOf(yaml).some(isReading)
  const found = Object.entries(resources).find(([name, yaml]) =>
    wanted === undefined ? yaml.model === model.name && reads(yaml) : name === wanted,
  )
  // The checks have made sure of it.
  if (found === undefined) throw new Error(`no resource shows ${model.name}`)
  return found
}
