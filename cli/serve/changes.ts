import type { AppSpec } from '../../src/internal.js'

/** More would not be read. */
const MOST = 8

/** What a configuration has that the one before it had not, what it has no more, and what it has in another form, by name. */
export function changesBetween(before: AppSpec, now: AppSpec): readonly string[] {
  const changes = [
    ...compare('model', modelsOf(before), modelsOf(now)),
    ...compare('field', fieldsOf(before, now), fieldsOf(now, before)),
    ...compare('resource', resourcesOf(before), resourcesOf(now)),
    ...compare('plugin', pluginsOf(before), pluginsOf(now)),
  ]
  return changes.length > MOST ? [...changes.slice(0, MOST), `and ${changes.length - MOST} more`] : changes
}

/** Things by name, each as a text that says all of it. */
type Things = ReadonlyMap<string, string>

function compare(kind: string, before: Things, now: Things): readonly string[] {
  const known = [...now].filter(([name]) => before.has(name))
  return [
    ...[...now.keys()].filter((name) => !before.has(name)).map((name) => `+ ${kind} ${name}`),
    ...[...before.keys()].filter((name) => !now.has(name)).map((name) => `- ${kind} ${name}`),
    ...known.filter(([name, text]) => before.get(name) !== text).map(([name]) => `~ ${kind} ${name}`),
  ]
}

const pluginsOf = ({ plugins }: AppSpec): Things => new Map(plugins.map((path) => [path, path]))

const modelsOf = ({ models }: AppSpec): Things =>
  new Map(models.map((model) => [model.name, textOf({ ...model, fields: [] })]))

/** Those of models that are on both sides: the others are new, or gone, as a whole. */
function fieldsOf({ models }: AppSpec, other: AppSpec): Things {
  const shared = models.filter(({ name }) => other.models.some((model) => model.name === name))
  return new Map(
    shared.flatMap((model) => model.fields.map((field) => [`${model.name}.${field.name}`, textOf(field)] as const)),
  )
}

const resourcesOf = ({ resources, mounts }: AppSpec): Things =>
  new Map(
    [...resources, ...mounts.flatMap((mount) => mount.resources)].map((each) => [each.name, textOf(each)] as const),
  )

/** What has a name stands for itself by it, so that a field that changes does not change all that mention it. */
function textOf(thing: object): string {
  return JSON.stringify(thing, (key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    const isNamed = key !== '' && typeof value === 'object' && value !== null && 'name' in value
    return isNamed ? value.name : value
  })
}
