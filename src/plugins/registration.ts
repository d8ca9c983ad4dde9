import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'
import type { PluginApp } from '../http/plugin.js'
import { RouteClash } from '../http/routes.js'
import type { LoadedPlugin } from './load.js'

/**
 * Runs a plugin's function. Plugins in JavaScript are held by no compiler, so that everything they give is looked at here.
 * @throws RouteClash, and an Error that names the plugin for anything else that is wrong with what it does
 */
export function registerPlugin({ path, register }: LoadedPlugin, app: PluginApp): void {
  const state = { open: true }
  const requireOpen = (member: keyof PluginApp) => {
    if (state.open) return
    throw new Error(`the plugin \`${path}\` called ${member}() after its function had returned; ${IN_TIME}`)
  }
  try {
    const result: unknown = register(guard(app, requireOpen))
    if (!isThenable(result)) return
    // It is refused, so that what becomes of it concerns nobody.
    result.then(ignore, ignore)
    throw new Error(`its function returned a promise; ${IN_TIME}`)
  } catch (error) {
    if (error instanceof RouteClash || !isNativeError(error)) throw error
    throw new Error(`the plugin \`${path}\`: ${error.message}`, { cause: error })
  } finally {
    state.open = false
  }
}

const IN_TIME =
  'everything is registered before it returns, and what has to be awaited is awaited at the top of the module'

function guard(app: PluginApp, requireOpen: (member: keyof PluginApp) => void): PluginApp {
  return Object.freeze<PluginApp>({
    resource: (name) => app.resource(name),
    setting(name, schema, fallback) {
      requireOpen('setting')
      requireName('the name of a setting', name)
      return app.setting(name, schema, fallback)
    },
    route(...route) {
      const [method, path, name, handle, operation] = route
      requireOpen('route')
      requireName(`the name of the route ${inspect(method)} ${inspect(path)}`, name)
      requirePath(`the path of the route \`${name}\``, path)
      requireFunction(`the handler of the route \`${name}\``, handle)
      requireOperation(`the description of the route \`${name}\``, operation)
      app.route(...route)
    },
    problems(path, render) {
      requireOpen('problems')
      requirePath('the path of problems()', path)
      requireFunction(`what renders the problems at ${path}`, render)
      app.problems(path, render)
    },
    mount(path, listener) {
      requireOpen('mount')
      requirePath('the path of mount()', path)
      requireFunction(`what is mounted at ${path}`, listener)
      app.mount(path, listener)
    },
  })
}

function requireName(what: string, given: unknown): void {
  if (typeof given === 'string' && given !== '') return
  throw new Error(`${what} is ${inspect(given)}; it must be a text`)
}

/** Documents are made when somebody asks for one; what is wrong with a description is said before. */
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

function requireFunction(what: string, given: unknown): void {
  if (typeof given === 'function') return
  throw new Error(`${what} is ${inspect(given, { depth: 0 })}; it must be a function`)
}

/** Clients take `.` and `..` away before they send a path, so that nobody could ask for one with them. */
function requirePath(what: string, given: unknown): void {
  const segments = typeof given === 'string' ? given.split('/') : []
  const sound = segments.at(0) === '' && segments.at(-1) === ''
  if (given === '/' || (sound && segments.slice(1, -1).every((segment) => !['', '.', '..'].includes(segment)))) return
  throw new Error(
    `${what} is ${inspect(given)}; it must start and end with a slash, with no doubled slash, \`.\` or \`..\` in between`,
  )
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function ignore(): void {}
