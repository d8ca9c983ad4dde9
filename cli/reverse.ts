import { type App, resourceAt, type Route } from '../src/internal.js'
import { Failure } from './failure.js'
import { similarHelp } from './similar.js'

/** A command that takes the name of a route and values for the parameters of its path. */
interface Wish {
  /** `url`, for the help. */
  readonly command: string
  readonly name: string
  readonly given: ReadonlyMap<string, string>
}

/**
 * `id=5` and the like, by name.
 * @throws Failure 2 for what is none, and for a parameter that is given twice
 */
export function readPairs(pairs: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const key = pair.slice(0, at)
    if (at < 1) throw new Failure(2, `\`${pair}\` is not a parameter`, ['write it as key=value: id=5'])
    if (given.has(key)) throw new Failure(2, `the parameter \`${key}\` is given twice`)
    given.set(key, pair.slice(at + 1))
  }
  return given
}

/**
 * The names of the parameters of a route.
 * @throws Failure 1 when no route has the name
 */
export function parametersOf(app: App, name: string): readonly string[] {
  const wanted = app.routes.parameters(name)
  if (wanted !== undefined) return wanted
  const help = similarHelp(name, app.routes.names(), { singular: 'route', plural: 'routes' })
  throw new Failure(1, `no route is named \`${name}\``, help)
}

/**
 * The path of a route.
 * @throws Failure 1 when no route has the name, and 2 when the values are not those of its parameters
 */
export function reverse(app: App, { command, name, given }: Wish): string {
  const wanted = parametersOf(app, name)
  const [route] = routesOf(app, name)
  // What stands in a path of a plugin may be any segment.
  const resource = route && resourceAt(route)
  const kind = resource?.spec.model.primaryKey.type.name ?? 'value'
  const usage = ['snippetctl', command, name, ...wanted.map((key) => `${key}=<${kind}>`)].join(' ')
  const refuse = (message: string) => new Failure(2, message, [usage])

  const missing = wanted.find((key) => !given.has(key))
  if (missing !== undefined) throw refuse(`\`${name}\` needs a value for \`${missing}\``)
  for (const [key, value] of given) {
    if (!wanted.includes(key)) throw refuse(`\`${name}\` has no parameter \`${key}\``)
    if (resource?.parseId(value) === undefined && resource !== undefined) {
      throw refuse(`\`${value}\` is no ${kind} as it is written in a URL, and \`${key}\` of \`${name}\` is one`)
    }
  }
  const path = app.routes.reverse(name, Object.fromEntries(given))
  if (path === undefined)
    throw refuse(`no URL of \`${name}\` has ${[...given].map((pair) => pair.join('=')).join(' ')}`)
  return path
}

/** The routes of a name, one for each method. */
export function routesOf(app: App, name: string): readonly Route[] {
  return [...app.routes].filter((route) => route.name === name)
}
