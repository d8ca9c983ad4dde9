import { compileProfiles, type Profiles } from './access/profiles.js'
import type { Authenticator } from './auth/plugin-identities.js'
import type { Rejection } from './config/parse/rejection.js'
import type { AppSpec, AuthSpec, ResourceSpec } from './config/spec.js'
import { createExplore, type Pages } from './explore/index.js'
import { guardHandler, guardRoutes, type RoutesFor } from './http/granted-routes.js'
import { surroundHandler } from './http/middleware/plugins.js'
import { applyUses, isGlobal, withUsesOf } from './http/middleware/use.js'
import { createRegistry, registrar, type Registry, resourceNamed } from './http/registrations/registrar.js'
import { uncomputedFields, unknownActions, usesWithoutRoutes } from './http/registrations/registration-checks.js'
import { RouteClash, RouteTable } from './http/route-table.js'
import { type Close, closeOnce } from './http/server/closing.js'
import type { Mount } from './http/server/fallback.js'
import { viewset } from './http/viewset.js'
import { findBrokenReference } from './openapi/document.js'
import type { LoadedPlugin } from './plugins/load.js'
import { registerPlugin } from './plugins/registration.js'
import type { Computations } from './resource/computed.js'
import { type Links, linksAt } from './resource/bodies/links.js'
import type { IsReplaced } from './migrations/drift/revoked-rights.js'
import { compileResource, type Resource } from './resource/resource.js'
import { type CompileSchema, createCompiler } from './resource/validator.js'
import { type Environment, readSettings, withPublicUrl } from './settings.js'

/** The compiled application: everything a server needs but a database. Frozen. */
export interface App {
  readonly spec: AppSpec
  /** Including the resources of mounts, each under its own name. */
  readonly resources: readonly Resource[]
  readonly routes: RouteTable
  readonly mounts: readonly Mount[]
  /** The functions for computed fields of a resource. */
  readonly computationsOf: (resource: Resource) => Computations | undefined
  /** Whether a plugin replaces an operation. */
  readonly isReplaced: IsReplaced
  /** The rights of callers; undefined without `auth`. */
  readonly access: AppAccess | undefined
  /** The ways to sign in of plugins, in the order in which they are asked. */
  readonly authenticators: readonly Authenticator[]
  /** The HTML pages; undefined if there are none. */
  readonly pages: Pages | undefined
  /** Whether `NODE_ENV` is not `production`. */
  readonly development: boolean
  readonly close: Close
}

export interface AppAccess {
  readonly auth: AuthSpec
  readonly profiles: Profiles
  readonly routesFor: RoutesFor
}

export type Compiled = { readonly app: App } | { readonly rejections: readonly Rejection[]; readonly close: Close }

/** Turns a checked spec and its plugins into one table of named routes. Needs no database. */
export function compileApp(
  given: AppSpec,
  plugins: readonly LoadedPlugin[],
  { env, checkDefaults }: { readonly env: Environment; readonly checkDefaults: boolean },
): Compiled {
  const development = env.NODE_ENV !== 'production'
  const { spec, rejected } = withPublicUrl(given, env)
  const settings = readSettings(spec.settings, env, checkDefaults)
  const routes = new RouteTable()
  const links = linksAt(routes, spec.api.publicUrl)
  const compile = createCompiler()
  const registry = createRegistry({
    spec,
    routes,
    compile,
    resources: compileResources(spec, links, compile),
    setting: (name, schema, fallback) => settings.declare(name, schema, fallback),
  })
  const { resources, mounts, authenticators, uses } = registry
  const exposed = [...rejected, ...exposeResources(registry)]
  const registered = registerPlugins(plugins, registry)
  // A plugin that failed may not have registered all of its functions, routes, actions and settings.
  const incomplete = exposed.length + registered.length === 0 ? findIncomplete(registry, plugins) : []
  const unknown = registered.length + incomplete.length === 0 ? unknownActions(spec, routes) : []
  const rejections = [...exposed, ...registered, ...incomplete, ...unknown]
  // If there are errors, some routes may be missing.
  for (const [resource, added] of rejections.length > 0 ? [] : registry.additions) {
    for (const route of viewset(resource, added)) routes.replace(route)
  }
  applyUses(routes, uses)
  const access = compileAccess(registry, compileProfiles(spec, links, compile))
  rejections.push(...(registered.length === 0 ? settings.rejections() : settings.misfits()))
  const close = closeOnce(registry.closings)
  if (rejections.length > 0) return { rejections, close }
  const app: App = {
    spec,
    resources: [...resources.values()],
    routes,
    mounts,
    computationsOf: ({ spec: { name } }) => registry.computations.get(resourceNamed(registry, name)),
    isReplaced: ({ name }, operation) =>
      registry.additions.get(resourceNamed(registry, name))?.replacements.has(operation) === true,
    access,
    authenticators,
    pages: compilePages(registry, access, development),
    development,
    close,
  }
  return { app: Object.freeze(app) }
}

function compileResources(spec: AppSpec, links: Links, compile: CompileSchema): ReadonlyMap<string, Resource> {
  const all = [...spec.resources, ...spec.mounts.flatMap(({ resources }) => resources)]
  return new Map(all.map((each) => [each.name, compileResource(each, links, compile)]))
}

/** Adds the generated routes. */
function exposeResources({ spec, resources, routes }: Registry): readonly Rejection[] {
  const expose = ({ name }: ResourceSpec): void => {
    const resource = resources.get(name)
    if (!resource) return
    for (const route of viewset(resource)) routes.add(route)
    const { dialect, path } = resource.spec
    if (dialect?.rejection) routes.renderProblems(path, dialect.rejection, dialect.rejectionSchema)
  }
  return [
    ...spec.resources.flatMap((each) => attempt(['resources', each.name], 'key', () => expose(each))),
    ...spec.mounts.flatMap((mount, index) =>
      attempt(['mounts', index, 'path'], 'value', () => mount.resources.forEach(expose)),
    ),
  ]
}

function registerPlugins(plugins: readonly LoadedPlugin[], registry: Registry): readonly Rejection[] {
  return plugins.flatMap((plugin, index) =>
    attempt(['plugins', index], 'value', () =>
      registerPlugin(plugin, registry.spec.file, (place) =>
        registrar(registry, { source: `plugin ${plugin.path}`, place }),
      ),
    ),
  )
}

function attempt(path: Rejection['path'], part: Rejection['part'], work: () => void): readonly Rejection[] {
  try {
    work()
    return []
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof RouteClash) return [{ code: 'SC354', path, part, message, help: [error.help] }]
    return [{ code: 'SC353', path, part, message, help: ['correct the plugin, or remove it from `plugins`'] }]
  }
}

/** Reports wrong descriptions, fields that nothing computes, and middleware without routes. Descriptions may refer to any route, so all must exist. */
function findIncomplete(registry: Registry, plugins: readonly LoadedPlugin[]): readonly Rejection[] {
  const { spec, routes, uses, computations } = registry
  const findBroken = findBrokenReference(routes)
  const misdescribed = [...routes].flatMap(({ name, source, operation }): readonly Rejection[] => {
    const broken = operation && findBroken(operation)
    if (broken === undefined) return []
    const index = plugins.findIndex(({ path }) => source === `plugin ${path}`)
    const message = `the ${source}: the description of the route \`${name}\` is wrong: ${broken}`
    const help = ['write the schema out, or refer to one under `#/components/schemas`']
    return [{ code: 'SC353', path: ['plugins', index], part: 'value', message, help }]
  })
  return [
    ...misdescribed,
    ...uncomputedFields(spec, (name) => computations.get(resourceNamed(registry, name))),
    ...usesWithoutRoutes(routes, uses, plugins),
  ]
}

/** Guards the routes by the grants of callers. */
function compileAccess(registry: Registry, profiles: Profiles | undefined): AppAccess | undefined {
  const { spec, resources, routes, additions, uses } = registry
  const { auth } = spec
  if (!auth || !profiles) return undefined
  const routesFor = guardRoutes(routes, {
    auth,
    profiles,
    routesOf: (own) => viewset(own, additions.get(resources.get(own.spec.name) ?? own)),
    withUsesOf: (route, like) => withUsesOf(route, like, uses),
  })
  return { auth, profiles, routesFor }
}

function compilePages(registry: Registry, access: AppAccess | undefined, development: boolean): Pages | undefined {
  const { spec, routes, uses } = registry
  const { title, explore } = spec.api
  if (!(explore === 'development' ? development : explore)) return undefined
  const resources = [...registry.resources.values()]
  const { auth, profiles } = access ?? {}
  return createExplore({ file: spec.file, title, resources, routes, profiles, auth, development }, (handle) => {
    const surrounded = surroundHandler(handle, uses.filter(isGlobal))
    return access ? guardHandler(access, 'explore', surrounded) : surrounded
  })
}
