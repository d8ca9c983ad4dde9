import { loneKey } from '../config/model-spec.js'
import type { AppSpec, ModelSpec, ResourceSpec } from '../config/spec.js'
import type { RouteTable } from '../http/route-table.js'
import { toPascal, uniqueNames } from '../resource/names.js'
import type { Resource } from '../resource/resource.js'
import { declare, type ModelNames, modelTypes, nameModel, rowType } from './model-types.js'
import { serverSet } from '../resource/bodies/values.js'
import { type Member, formatNames, formatObject, formatValue } from './spelling.js'
import type { TypesByName } from '../features/feature.js'
import { featureParameters, featureTypes } from '../features/index.js'
import type { Route } from '../http/route.js'

/** The compiled application to write types for. */
interface Typed {
  readonly spec: AppSpec
  readonly resources: readonly Resource[]
  readonly routes: RouteTable
}

const HEAD = `// Written by \`snippetctl types\` from resources.yaml and its plugins; changes to this file are overwritten.
`

/** The names that the file itself uses. */
const TAKEN = ['Application', 'Json', 'JsonText', 'Omit', 'Partial', 'Pick', 'Record']

/** The TypeScript file of an application: a type for everything that it names. It is deterministic. */
export function renderTypes({ spec, resources, routes }: Typed): string {
  const unique = uniqueNames(TAKEN)
  const named = spec.models.filter((model) => !spec.internal.includes(model))
  const names = new Map(named.map((model) => [model, nameModel(model, unique)]))
  const rows = new Map([...names].map(([model, { row }]) => [model.name, row]))
  const models = [...names].flatMap(([model, own]) => [
    ...modelTypes(model, own),
    rowType(model, own, (name) => rows.get(name)),
  ])
  const filters: string[] = []

  const registered = resources.map((resource): Member => {
    const { name, model } = resource.spec
    const parameters = listParameters(resource)
    const filter = parameters && unique(`${toPascal(name)}Filter`)
    if (filter) filters.push(declare(`The parameters of the list of \`${name}\`.`, filter, formatObject(parameters)))
    return { name, type: formatObject(partsOf(resource.spec, names.get(model), filter), 6) }
  })

  const parts = [...models, ...filters]
  const used = ['Json', 'JsonText'].filter((name) => parts.some((part) => new RegExp(`\\b${name}\\b`).test(part)))
  return [
    HEAD,
    ...(used.length > 0 ? [`import type { ${used.join(', ')} } from 'snippetctl'\n`] : []),
    ...parts,
    ...(parts.length > 0 ? [] : ['export {}\n']),
    registration(registered, rows, routeTypes(routes)),
  ].join('\n')
}

function partsOf(spec: ResourceSpec, names: ModelNames | undefined, filter: string | undefined): readonly Member[] {
  const { model } = spec
  return [
    { name: 'id', type: formatId(model) },
    ...typesOf(names),
    { name: 'serverSet', type: formatNames([...serverSet(model).keys()]) },
    ...featureTypes(spec, String(names?.record)).map(([name, types]) => ({ name, type: formatTypes(types) })),
    ...(filter === undefined ? [] : [{ name: 'filter', type: filter }]),
  ]
}

/** The value of the key's field, or an object with the values of all its fields. */
function formatId(model: ModelSpec): string {
  const lone = loneKey(model)
  if (lone) return formatValue(lone)
  if (model.key.length === 0) return 'never'
  return formatObject(
    model.key.map((part) => ({ name: part.name, type: formatValue(part) })),
    8,
  )
}

/** The types of the records of a resource. Rows belong to models. */
function typesOf(names: ModelNames | undefined): readonly Member[] {
  const { row: _row, ...types } = names ?? {}
  return Object.entries(types).map(([name, type]) => ({ name, type: String(type) }))
}

function formatTypes(types: TypesByName): string {
  const members = Object.entries(types).map(([name, type]) => ({ name, type }))
  return members.length === 0 ? 'Record<never, never>' : formatObject(members, 8)
}

function registration(
  resources: readonly Member[],
  rows: ReadonlyMap<string, string>,
  routes: readonly Member[],
): string {
  const models = [...rows].map(([name, type]) => ({ name, type }))
  return `declare module 'snippetctl' {
  interface Application {
    readonly resources: ${formatObject(resources, 4)}
    readonly models: ${formatObject(models, 4)}
    readonly routes: ${formatObject(routes, 4)}
  }
}
`
}

/** The parameters of a list; undefined for a resource in a dialect, which has its own parameters. */
export function listParameters({ spec }: Resource): readonly Member[] | undefined {
  if (spec.dialect) return undefined
  return featureParameters(spec, 'list').map(({ name, typescript }) => ({
    name,
    type: `${typescript} | undefined`,
    optional: true,
  }))
}

/** The arguments for the path of each named route. Ids are values of records, or text from a URL. */
export function routeTypes(routes: RouteTable): readonly Member[] {
  // The first route of a name determines its types.
  const named = new Map([...routes].reverse().map((route) => [route.name, route]))
  return routes.names().map((name) => {
    const route = named.get(name)
    const members = (routes.parameters(name) ?? []).map((parameter) => ({
      name: parameter,
      type: parameterType(route, parameter),
    }))
    return { name, type: formatObject(members, 6) }
  })
}

function parameterType(route: Route | undefined, parameter: string): string {
  const key = (route?.generated ?? route?.action)?.resource.spec.model.key.find(({ name }) => name === parameter)
  if (!key) return 'bigint | number | string'
  const type = formatValue(key)
  return type === 'string' ? type : `${type} | string`
}
