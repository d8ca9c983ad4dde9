import type { AppSpec } from '../../src/internal.js'
import { firstOf } from '../output.js'

/** A longer list would not be read. */
const MAX_CHANGES = 8

/** Lists what was added (`+`), removed (`-`) and changed (`~`) between two configurations, by name. */
export function changesBetween(before: AppSpec, now: AppSpec): readonly string[] {
  const changes = [
    ...compare('model', modelsOf(before), modelsOf(now)),
    ...compare('field', fieldsOf(before, now), fieldsOf(now, before)),
    ...compare('resource', resourcesOf(before), resourcesOf(now)),
    ...compare('plugin', pluginsOf(before), pluginsOf(now)),
  ]
  return firstOf(changes, MAX_CHANGES)
}

/** The definitions of one kind by name, each as JSON. */
type Definitions = ReadonlyMap<string, string>

function compare(kind: string, before: Definitions, now: Definitions): readonly string[] {
  const known = [...now].filter(([name]) => before.has(name))
  return [
    ...[...now.keys()].filter((name) => !before.has(name)).map((name) => `+ ${kind} ${name}`),
    ...[...before.keys()].filter((name) => !now.has(name)).map((name) => `- ${kind} ${name}`),
    ...known.filter(([name, text]) => before.get(name) !== text).map(([name]) => `~ ${kind} ${name}`),
  ]
}

function pluginsOf({ plugins }: AppSpec): Definitions {
  return new Map(plugins.map((path) => [path, path]))
}

function modelsOf({ models }: AppSpec): Definitions {
  return new Map(models.map((model) => [model.name, textOf({ ...model, fields: [] })]))
}

/** The fields of models that both configurations have; other models are reported as a whole. */
function fieldsOf({ models }: AppSpec, other: AppSpec): Definitions {
  const shared = models.filter(({ name }) => other.models.some((model) => model.name === name))
  return new Map(
    shared.flatMap((model) => model.fields.map((field) => [`${model.name}.${field.name}`, textOf(field)] as const)),
  )
}

function resourcesOf({ resources, mounts }: AppSpec): Definitions {
  return new Map(
    [...resources, ...mounts.flatMap((mount) => mount.resources)].map(
      (each) => [each.name, textOf({ ...each, shown: [] })] as const,
    ),
  )
}

/** Renders nested definitions as their names, so that a changed field does not mark everything that refers to it as changed. */
function textOf(thing: object): string {
  return JSON.stringify(thing, (key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    const isNamed = key !== '' && typeof value === 'object' && value !== null && 'name' in value
    return isNamed ? value.name : value
  })
}
