import type { AppSpec, AuthSpec } from './config/spec.js'
import { suggest } from './config/words.js'
import type { Rejection } from './config/parse/rejection.js'
import { compileProfiles, type Profiles } from './access/profiles.js'
import type { Authenticator } from './auth/plugin-identities.js'
import { createExplore, type Pages } from './explore/index.js'
import { actionRoute } from './http/action.js'
import { type Close, type Closing, closeOnce } from './http/server/closing.js'
import type { PluginApp } from './http/plugin.js'
import type { Mount } from './http/server/fallback.js'
import type { AnyReplacement } from './http/replacement.js'
import { type FindPlace, METHODS } from './http/route.js'
import { guardHandler, guardRoutes, type RoutesFor } from './http/granted-routes.js'
import { applyUses, isGlobal, type Use, type UseArguments, withTarget, withUsesOf } from './http/middleware/use.js'
import { surroundHandler } from './http/middleware/plugins.js'
import { createValue } from './http/request-value.js'
import {
  checkAuthenticator,
  checkPath,
  rejectBulk,
  rejectExport,
  requireComputed,
  requireOffered,
  uncomputedFields,
  unknownActions,
  usesWithoutRoutes,
} from './http/registration-checks.js'
import { RouteClash, RouteTable } from './http/route-table.js'
import { type Additions, NO_ADDITIONS, viewset } from './http/viewset.js'
import { findBrokenReference } from './openapi/document.js'
import type { LoadedPlugin } from './plugins/load.js'
import { registerPlugin } from './plugins/registration.js'
import { compileComputation, type Computation, type Computations, type Compute } from './resource/computed.js'
import { compileResource, type Resource } from './resource/resource.js'
import { createCompiler } from './resource/validator.js'
import { linksAt } from './resource/links.js'
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
  const rejections: Rejection[] = []
  const { spec, rejected } = withPublicUrl(given, env)
  rejections.push(...rejected)
  const routes = new RouteTable()
  const mounts: Mount[] = []
  const closings: Closing[] = []
  const uses: Use[] = []
  const authenticators: Authenticator[] = []
  const settings = readSettings(spec.settings, env, checkDefaults)
  const compile = createCompiler()
  const additions = new Map<Resource, Additions>()
  const computations = new Map<Resource, Map<string, Compute>>()
  const added = (resource: Resource): Additions => additions.get(resource) ?? NO_ADDITIONS
  const links = linksAt(routes, spec.api.publicUrl)
  const mounted = spec.mounts.flatMap((mount) => mount.resources)
  const resources = new Map(
    [...spec.resources, ...mounted].map((each) => [each.name, compileResource(each, links, compile)]),
  )
  const attempt = (path: Rejection['path'], part: Rejection['part'], work: () => void): void => {
    try {
      work()
    } catch (error) {
      const code = error instanceof RouteClash ? 'SC354' : 'SC353'
      rejections.push({ code, path, part, message: error instanceof Error ? error.message : String(error), help: [] })
    }
  }

  for (const { name } of spec.resources) attempt(['resources', name], 'key', () => expose(name))
  spec.mounts.forEach((mount, index) => {
    attempt(['mounts', index, 'path'], 'value', () => mount.resources.forEach(({ name }) => expose(name)))
  })
  const before = rejections.length
  plugins.forEach((plugin, index) => {
    attempt(['plugins', index], 'value', () => registerPlugin(plugin, spec.file, pluginApp(plugin.path)))
  })
  const haveRegistered = rejections.length === before
  // A plugin that failed may not have registered all of its functions and routes.
  const isWhole = rejections.length === 0
  rejections.push(...misdescribed())
  if (isWhole) {
    const computedOf = (name: string) => computations.get(resources.get(name) ?? unknownResource(name, []))
    rejections.push(...uncomputedFields(spec, computedOf), ...usesWithoutRoutes(routes, uses, plugins))
  }
  // A plugin that failed may not have added all of its actions.
  if (rejections.length === before) rejections.push(...unknownActions(spec, routes))
  // If there are errors, some routes may be missing.
  for (const [resource, added] of rejections.length > 0 ? [] : additions) {
    for (const route of viewset(resource, added)) routes.replace(route)
  }
  applyUses(routes, uses)
  const profiles = compileProfiles(spec, links, compile)
  const access: AppAccess | undefined =
    spec.auth && profiles ? { auth: spec.auth, profiles, routesFor: guard({ auth: spec.auth, profiles }) } : undefined
  // A plugin that failed may not have declared all of its settings.
  rejections.push(...(haveRegistered ? settings.rejections() : settings.misfits()))
  return rejections.length > 0
    ? { rejections, close: closeOnce(closings) }
    : {
        app: Object.freeze({
          spec,
          resources: [...resources.values()],
          routes,
          mounts,
          computationsOf: ({ spec: { name } }: Resource) =>
            computations.get(resources.get(name) ?? unknownResource(name, [])),
          access,
          authenticators,
          pages: pages(),
          development,
          close: closeOnce(closings),
        }),
      }

  function guard(given: Pick<AppAccess, 'auth' | 'profiles'>): RoutesFor {
    return guardRoutes(routes, {
      ...given,
      routesOf: (own) => viewset(own, added(resources.get(own.spec.name) ?? own)),
      withUsesOf: (route, like) => withUsesOf(route, like, uses),
    })
  }

  function pages(): Pages | undefined {
    const { title, explore } = spec.api
    const shown = explore === 'development' ? development : explore
    return shown
      ? createExplore(
          {
            file: spec.file,
            title,
            resources: [...resources.values()],
            routes,
            profiles,
            auth: spec.auth,
            development,
          },
          (handle) => {
            const surrounded = surroundHandler(handle, uses.filter(isGlobal))
            return access ? guardHandler(access, 'explore', surrounded) : surrounded
          },
        )
      : undefined
  }

  /** Checked only if all routes exist that schemas may refer to. */
  function misdescribed(): readonly Rejection[] {
    if (rejections.length > 0) return []
    const findBroken = findBrokenReference(routes)
    return [...routes].flatMap(({ name, source, operation }): readonly Rejection[] => {
      const broken = operation && findBroken(operation)
      if (broken === undefined) return []
      const index = plugins.findIndex(({ path }) => source === `plugin ${path}`)
      const message = `the ${source}: the description of the route \`${name}\` is wrong: ${broken}`
      return [{ code: 'SC353', path: ['plugins', index], part: 'value', message, help: [] }]
    })
  }

  function expose(name: string): void {
    const resource = resources.get(name)
    if (!resource) return
    for (const route of viewset(resource)) routes.add(route)
    const { dialect, path } = resource.spec
    if (dialect?.rejection) routes.renderProblems(path, dialect.rejection, dialect.rejectionSchema)
  }

  /** The resource and its copies under mounts, which share hooks and guards. */
  function exposures(resource: Resource): readonly Resource[] {
    return [...resources.values()].filter((each) => each === resource || each.spec.mounted === resource.spec.name)
  }

  function pluginApp(path: string): (place: FindPlace) => PluginApp {
    return (place) => registrar(`plugin ${path}`, place)
  }

  function registrar(source: string, place: FindPlace): PluginApp {
    const { prefix } = spec.api
    const resource = (name: string) => resources.get(name) ?? unknownResource(name, [...resources.keys()])
    return Object.freeze<PluginApp>({
      resource,
      setting: (name, schema, fallback) => settings.declare(name, schema, fallback),
      route(...[method, path, name, handle, operation, options]) {
        if (!METHODS.includes(method))
          throw new Error(`the route \`${name}\` has the method ${method}; allowed are ${METHODS.join(', ')}`)
        const { crossSite } = options ?? {}
        routes.add({ method, path: checkPath(prefix + path), name, handle, source, place, operation, crossSite })
      },
      action(name, action, declared) {
        routes.add({ ...actionRoute(resource(name), action, declared, compile), source, place })
      },
      hooks(name, hooks) {
        for (const each of exposures(resource(name))) {
          const before = added(each)
          additions.set(each, { ...before, hooks: [...before.hooks, { hooks, place }] })
        }
      },
      replace(name, operation, replacement) {
        requireOffered(resource(name), operation)
        rejectBulk(resource(name), operation)
        rejectExport(resource(name), operation)
        for (const each of exposures(resource(name))) {
          const before = added(each)
          const other = before.replacements.get(operation)
          if (other)
            throw new RouteClash(`two plugins replace \`${operation}\` of \`${name}\`: ${other.source} and ${source}`)
          const replacements = new Map(before.replacements).set(operation, {
            // The replacement receives the input of the operation with this name.
            replacement: replacement as unknown as AnyReplacement,
            source,
            place,
          })
          additions.set(each, { ...before, replacements })
        }
      },
      compute(name, field, compute) {
        const declared = requireComputed(resource(name), field)
        const what = `the computed field \`${field}\` of \`${name}\` (${source})`
        // The callback receives the fields declared under `from`.
        const made = compileComputation(declared, { what, compute: compute as Computation, compile })
        for (const each of exposures(resource(name))) {
          const known = computations.get(each) ?? new Map<string, Compute>()
          if (known.has(field)) throw new Error(`\`${field}\` of \`${name}\` is already computed`)
          computations.set(each, known.set(field, made))
          const before = added(each)
          additions.set(each, { ...before, computed: [...before.computed, place] })
        }
      },
      use(...given: UseArguments) {
        const [target, middleware, { problems = [] }] = withTarget(given)
        const path = typeof target === 'string' ? checkPath(prefix + target) : undefined
        const own = typeof target === 'object' ? exposures(resource(target.resource)) : undefined
        uses.push({ path, resources: own, middleware, problems, source, place })
      },
      authenticate(name, find) {
        checkAuthenticator(name, spec.auth, authenticators)
        authenticators.push({ name, find })
      },
      value: (name) => createValue(name),
      problems: (path, render, schema) => routes.renderProblems(checkPath(prefix + path), render, schema),
      mount: (path, listener, options) => void mounts.push({ path: checkPath(path), listener, ...options }),
      onClose: (work) => void closings.push({ source, place, work }),
    })
  }
}

function unknownResource(name: string, names: readonly string[]): never {
  throw new Error(`no resource is named \`${name}\`; ${suggest(name, names, 'resource').join('; ')}`)
}
