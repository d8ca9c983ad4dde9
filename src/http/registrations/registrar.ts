import type { Authenticator } from '../../auth/plugin-identities.js'
import type { AppSpec, Operation } from '../../config/spec.js'
import { suggest } from '../../config/words.js'
import { compileComputation, type Computation, type Compute } from '../../resource/computed.js'
import type { Resource } from '../../resource/resource.js'
import type { CompileSchema } from '../../resource/validator.js'
import { actionRoute } from './action.js'
import { type Use, type UseArguments, withTarget } from '../middleware/use.js'
import type { PluginApp } from './plugin.js'
import { checkAuthenticator, rejectBulk, rejectExport, requireComputed, requireOffered } from './registration-checks.js'
import type { AnyReplacement } from './replacement.js'
import { createValue } from './request-value.js'
import { requireReply } from './require-reply.js'
import { type FindPlace, METHODS } from '../route.js'
import { RouteClash, type RouteTable } from '../route-table.js'
import type { Closing } from '../server/closing.js'
import type { Mount } from '../server/fallback.js'
import { type Additions, NO_ADDITIONS, type ReplacedBy } from '../viewset.js'

/** The registrations of all plugins, and what they are checked against. */
export interface Registry {
  readonly spec: AppSpec
  /** By name, including the resources of mounts. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly compile: CompileSchema
  readonly setting: PluginApp['setting']
  readonly routes: RouteTable
  readonly additions: Map<Resource, Additions>
  readonly computations: Map<Resource, Map<string, Compute>>
  readonly uses: Use[]
  readonly authenticators: Authenticator[]
  readonly mounts: Mount[]
  readonly closings: Closing[]
}

/** The plugin of a registration, and its place in the plugin's files. */
interface Origin {
  readonly source: string
  readonly place: FindPlace
}

export function createRegistry(
  given: Pick<Registry, 'spec' | 'resources' | 'compile' | 'setting' | 'routes'>,
): Registry {
  const empty = { uses: [], authenticators: [], mounts: [], closings: [] }
  return { ...given, ...empty, additions: new Map(), computations: new Map() }
}

/** Creates the API with which a plugin adds to the registry. */
export function registrar(registry: Registry, origin: Origin): PluginApp {
  const { spec, routes } = registry
  const resource = (name: string) => resourceNamed(registry, name)
  const inApi = (path: string) => spec.api.prefix + path
  return Object.freeze<PluginApp>({
    resource,
    setting: registry.setting,
    route(...[method, path, name, given, operation, options]) {
      if (!METHODS.includes(method))
        throw new Error(`the route \`${name}\` has the method ${method}; allowed are ${METHODS.join(', ')}`)
      const { crossSite } = options ?? {}
      const handle = requireReply(given, () => `the handler of \`${name}\` (${placeOf(origin)})`)
      routes.add({ method, path: inApi(path), name, handle, ...origin, operation, crossSite })
    },
    action(name, action, declared) {
      routes.add({ ...actionRoute(resource(name), action, declared, registry.compile), ...origin })
    },
    hooks(name, hooks) {
      const added = { hooks, place: origin.place }
      extend(registry, resource(name), ({ hooks }) => ({ hooks: [...hooks, added] }))
    },
    replace(name, operation, given) {
      // The replacement receives the input of the operation with this name.
      const nameOf = () => `the replacement of \`${operation}\` of \`${name}\` (${placeOf(origin)})`
      const replacement = requireReply(given as unknown as AnyReplacement, nameOf)
      addReplacement(registry, resource(name), operation, { ...origin, replacement })
    },
    compute(name, field, compute) {
      // The callback receives the fields declared under `from`.
      addComputation(registry, resource(name), { ...origin, field, compute: compute as Computation })
    },
    use(...given: UseArguments) {
      const [target, middleware, { problems = [] }] = withTarget(given)
      const path = typeof target === 'string' ? inApi(target) : undefined
      const resources = typeof target === 'object' ? exposures(registry, resource(target.resource)) : undefined
      registry.uses.push({ path, resources, middleware, problems, ...origin })
    },
    authenticate(name, find) {
      checkAuthenticator(name, spec.auth, registry.authenticators)
      registry.authenticators.push({ name, find, placeOf: () => placeOf(origin) })
    },
    value: (name) => createValue(name),
    problems: (path, render, schema) => routes.renderProblems(inApi(path), render, schema),
    mount: (path, listener, options) => void registry.mounts.push({ path, listener, ...options }),
    onClose: (work) => void registry.closings.push({ ...origin, work }),
  })
}

/** The line of a registration, or its plugin if the line is unknown. */
function placeOf({ source, place }: Origin): string {
  const found = place()
  return found ? `${found.file}:${found.line}` : source
}

/** @throws Error naming the nearest resource if the name is unknown */
export function resourceNamed({ resources }: Pick<Registry, 'resources'>, name: string): Resource {
  const found = resources.get(name)
  if (found) return found
  throw new Error(`no resource is named \`${name}\`; ${suggest(name, [...resources.keys()], 'resource').join('; ')}`)
}

/** The resource and its copies under mounts, which share hooks and guards. */
function exposures({ resources }: Registry, resource: Resource): readonly Resource[] {
  return [...resources.values()].filter((each) => each === resource || each.spec.mounted === resource.spec.name)
}

function extend(
  registry: Registry,
  resource: Resource,
  more: (before: Additions, exposure: Resource) => Partial<Additions>,
): void {
  for (const each of exposures(registry, resource)) {
    const before = registry.additions.get(each) ?? NO_ADDITIONS
    registry.additions.set(each, { ...before, ...more(before, each) })
  }
}

function addReplacement(registry: Registry, resource: Resource, operation: Operation, added: ReplacedBy): void {
  requireOffered(resource, operation)
  rejectBulk(resource, operation)
  rejectExport(resource, operation)
  extend(registry, resource, ({ replacements }) => {
    const other = replacements.get(operation)
    if (!other) return { replacements: new Map(replacements).set(operation, added) }
    const both = `${other.source} and ${added.source}`
    throw new RouteClash(
      `two plugins replace \`${operation}\` of \`${resource.spec.name}\`: ${both}`,
      'remove one of the replacements',
    )
  })
}

function addComputation(
  registry: Registry,
  resource: Resource,
  { field, compute, source, place }: Origin & { readonly field: string; readonly compute: Computation },
): void {
  const { compile, computations } = registry
  const { name } = resource.spec
  const what = `the computed field \`${field}\` of \`${name}\` (${source})`
  const made = compileComputation(requireComputed(resource, field), { what, compute, compile })
  extend(registry, resource, ({ computed }, exposure) => {
    const known = computations.get(exposure) ?? new Map<string, Compute>()
    if (known.has(field)) throw new Error(`\`${field}\` of \`${name}\` is already computed`)
    computations.set(exposure, known.set(field, made))
    return { computed: [...computed, place] }
  })
}
