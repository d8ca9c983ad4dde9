import { dirname } from 'node:path'
import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'
import { suggest } from '../config/words.js'
import { ISOLATIONS } from '../db/database.js'
import type { Action } from '../http/registrations/action.js'
import { HOOKS } from '../http/registrations/hooks.js'
import type { UseArguments, UseOptions } from '../http/middleware/use.js'
import type { PluginApp } from '../http/registrations/plugin.js'
import { requirePath } from '../http/registrations/registration-checks.js'
import { type FindPlace, METHODS, type Middleware } from '../http/route.js'
import { RouteClash } from '../http/route-table.js'
import type { Computation } from '../resource/computed.js'
import type { Row } from '../resource/plan.js'
import { requireUse } from './use.js'
import { isMapping, requireFunction, requireName } from './require.js'
import type { LoadedPlugin } from './load.js'
import { callPlace, errorPlace } from './place.js'

/**
 * Runs a plugin's function. No compiler checks plugins in JavaScript, so every argument is validated here.
 * @throws RouteClash, and for any other mistake an Error that names the plugin
 */
export function registerPlugin({ path, register }: LoadedPlugin, configuration: string, appAt: AppAt): void {
  const state = { open: true }
  const requireOpen = (member: keyof PluginApp) => {
    if (state.open) return
    throw new Error(`the plugin \`${path}\` called ${member}() after its function had returned; ${IN_TIME}`)
  }
  try {
    const result: unknown = register(guard(appAt, requireOpen, configuration))
    if (!isThenable(result)) return
    // The promise is rejected here, so its result does not matter.
    result.then(ignore, ignore)
    throw new Error(`its function returned a promise; ${IN_TIME}`)
  } catch (error) {
    if (error instanceof RouteClash || !isNativeError(error)) throw error
    const place = errorPlace(error, dirname(configuration))
    const message = `the plugin \`${path}\`: ${error.message}`
    throw new Error(place === undefined ? message : `${place}: ${message}`, { cause: error })
  } finally {
    state.open = false
  }
}

const IN_TIME = 'register everything before it returns, and await promises at the top of the module'

/** Validates the registrations of a plugin, called from this place. */
type AppAt = (place: FindPlace) => PluginApp

function guard(appAt: AppAt, requireOpen: (member: keyof PluginApp) => void, configuration: string): PluginApp {
  const app = appAt(() => undefined)
  const from = (member: (...given: never[]) => unknown) => appAt(callPlace(member, configuration))
  const guarded = Object.freeze<PluginApp>({
    resource: (name) => app.resource(name),
    setting(name, schema, fallback) {
      requireOpen('setting')
      requireName('the name of a setting', name)
      return app.setting(name, schema, fallback)
    },
    route(...route) {
      const [method, path, name, handle, operation, options] = route
      requireOpen('route')
      requireName(`the name of the route ${inspect(method)} ${inspect(path)}`, name)
      requirePath(`the path of the route \`${name}\``, path)
      requireFunction(`the handler of the route \`${name}\``, handle)
      requireOperation(`the description of the route \`${name}\``, operation)
      requireSiteOptions(`the options of the route \`${name}\``, options)
      from(guarded.route).route(...route)
    },
    action(resource, name, action) {
      requireOpen('action')
      requireAction(`the action ${inspect(name)} of \`${resource}\``, name, action)
      // A plugin may name the type of its records as it likes.
      from(guarded.action).action(resource, name, action as Action<object>)
    },
    authenticate(name, find) {
      requireOpen('authenticate')
      requireName('the name of a way to sign in', name)
      requireFunction(`the function that authenticates by \`${name}\``, find)
      app.authenticate(name, find)
    },
    replace(resource, operation, replacement) {
      requireOpen('replace')
      requireFunction(`the replacement of \`${operation}\` of \`${resource}\``, replacement)
      from(guarded.replace).replace(resource, operation, replacement)
    },
    hooks(resource, hooks) {
      requireOpen('hooks')
      requireHooks(`the hooks of \`${resource}\``, hooks)
      from(guarded.hooks).hooks(resource, hooks)
    },
    compute(resource, field, compute) {
      requireOpen('compute')
      requireFunction(`the computation of \`${field}\` of \`${resource}\``, compute)
      // The compiler has already checked which fields it receives.
      from(guarded.compute).compute(resource, field, compute as Computation<Row, never>)
    },
    problems(path, render, schema) {
      requireOpen('problems')
      requirePath('the path of problems()', path)
      requireFunction(`the renderer of problems at ${path}`, render)
      app.problems(path, render, schema)
    },
    mount(path, listener, options) {
      requireOpen('mount')
      requirePath('the path of mount()', path)
      requireFunction(`the listener mounted at ${path}`, listener)
      requireSiteOptions(`the options of mount(${inspect(path)})`, options)
      app.mount(path, listener, options)
    },
    use(...given: UseArguments) {
      requireOpen('use')
      requireUse(given)
      from(guarded.use).use(...(given as [Middleware, UseOptions?]))
    },
    value(name) {
      requireOpen('value')
      requireName('the name of a value', name)
      return app.value(name)
    },
    onClose(work) {
      requireOpen('onClose')
      requireFunction('the function of onClose()', work)
      from(guarded.onClose).onClose(work)
    },
  })
  return guarded
}

/** Documents are built on demand, but mistakes in descriptions are reported here. */
function requireOperation(what: string, given: unknown): void {
  if (given === undefined) return
  const { summary, responses } = Object(given) as { readonly summary?: unknown; readonly responses?: unknown }
  if (typeof summary !== 'string' || summary === '') {
    throw new Error(`${what} has the summary ${inspect(summary)}; it must be a text`)
  }
  const statuses = Object.keys(Object(responses) as object)
  if (statuses.length === 0 || !statuses.every((status) => /^[2-5][0-9][0-9]$/.test(status))) {
    throw new Error(
      `${what} has the responses ${inspect(responses, { depth: 0 })}; they are named by status, 200 to 599`,
    )
  }
}

function requireSiteOptions(what: string, given: unknown): void {
  if (given === undefined) return
  if (!isMapping(given)) throw new Error(`${what} are ${inspect(given, { depth: 0 })}; they must be an object`)
  const unknown = Object.keys(given).find((key) => key !== 'crossSite')
  if (unknown !== undefined) {
    throw new Error(`${what} have the member \`${unknown}\`; ${suggest(unknown, ['crossSite'], 'member').join('; ')}`)
  }
  const { crossSite } = given
  if (crossSite === undefined || typeof crossSite === 'boolean') return
  throw new Error(`${what}: \`crossSite\` is ${inspect(crossSite, { depth: 0 })}; it must be true or false`)
}

const ACTION: Readonly<Record<string, (given: unknown) => string | undefined>> = {
  summary: (given) => (typeof given === 'string' && given !== '' ? undefined : 'a text'),
  handle: (given) => (typeof given === 'function' ? undefined : 'a function'),
  method: oneOf(METHODS),
  on: oneOf(['record', 'collection']),
  isolation: oneOf(ISOLATIONS),
  input: (given) => (given === undefined || isMapping(given) ? undefined : 'an object of fields'),
  output: (given) =>
    given === undefined || given === 'record' || isMapping(given) ? undefined : "an object of fields, or 'record'",
}

function oneOf(values: readonly string[]) {
  return (given: unknown) =>
    given === undefined || values.some((value) => value === given) ? undefined : `one of ${values.join(', ')}`
}

const ACTION_NAME = /^[a-z][a-z0-9_-]*$/

function requireAction(what: string, name: unknown, given: unknown): void {
  if (typeof name !== 'string' || !ACTION_NAME.test(name)) {
    throw new Error(`${what} needs a name of lower-case letters, digits, \`_\` and \`-\`, such as \`publish\``)
  }
  if (!isMapping(given)) throw new Error(`${what} is ${inspect(given, { depth: 0 })}; it must be an object`)
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(ACTION, key))
  if (unknown !== undefined) {
    throw new Error(
      `${what} has the member \`${unknown}\`; ${suggest(unknown, Object.keys(ACTION), 'member').join('; ')}`,
    )
  }
  for (const [key, expected] of Object.entries(ACTION)) {
    const wanted = expected(given[key])
    if (wanted === undefined) continue
    throw new Error(`${what}: \`${key}\` is ${inspect(given[key], { depth: 0 })}; it must be ${wanted}`)
  }
}

function requireHooks(what: string, given: unknown): void {
  if (!isMapping(given)) {
    throw new Error(`${what} are ${inspect(given, { depth: 0 })}; they must be an object of functions`)
  }
  const { isolation, ...hooks } = given
  const wanted = oneOf(ISOLATIONS)(isolation)
  if (wanted !== undefined) throw new Error(`${what} have the isolation ${inspect(isolation)}; it must be ${wanted}`)
  for (const [name, hook] of Object.entries(hooks)) {
    if (!HOOKS.some((known) => known === name)) {
      throw new Error(`${what} have the member \`${name}\`; ${suggest(name, HOOKS, 'hook').join('; ')}`)
    }
    requireFunction(`${what}: \`${name}\``, hook)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function ignore(): void {}
