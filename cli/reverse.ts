import { type App, encodeSegment, parseSegment, resourceAt, type Route } from '../src/internal.js'
import { Failure } from './failure.js'
import { similarHelp } from './similar.js'

/** A command with the name of a route and values for the parameters of its path as arguments. */
interface RouteCommand {
  /** The command with its flags, for the help. */
  readonly command: string
  readonly name: string
  readonly given: ReadonlyMap<string, string>
}

/**
 * Parses arguments such as `id=5`.
 * @throws Failure 2 if one is malformed or given twice
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
 * Returns the names of the path parameters of a route.
 * @throws Failure 1 if there is no such route
 */
export function parametersOf(app: App, name: string): readonly string[] {
  const wanted = app.routes.parameters(name)
  if (wanted !== undefined) return wanted
  const help = similarHelp(name, app.routes.names(), { singular: 'route', plural: 'routes' })
  throw new Failure(1, `no route is named \`${name}\``, help)
}

/**
 * Returns the path of a route.
 * @throws Failure 1 if there is no such route, 2 if the values do not match its parameters
 */
export function reverse(app: App, { command, name, given }: RouteCommand): string {
  const wanted = parametersOf(app, name)
  const [route] = routesOf(app, name)
  // A path parameter of a plugin's route may be any text.
  const resource = route && resourceAt(route)
  const partOf = (parameter: string) => resource?.spec.model.key.find((field) => field.name === parameter)
  const kindOf = (parameter: string) => partOf(parameter)?.type.name ?? 'value'
  const usage = ['snippetctl', command, name, ...wanted.map((key) => `${key}=<${kindOf(key)}>`)].join(' ')
  const reject = (message: string) => new Failure(2, message, [usage])

  const missing = wanted.find((key) => !given.has(key))
  if (missing !== undefined) throw reject(`\`${name}\` needs a value for \`${missing}\``)
  for (const [key, value] of given) {
    if (!wanted.includes(key)) throw reject(`\`${name}\` has no parameter \`${key}\``)
    const field = partOf(key)
    if (resource?.spec.addedId && !field && resource.parseId(encodeSegment(value) ?? '') === undefined)
      throw reject(
        `\`${value}\` is not the id of a record; \`${key}\` of \`${name}\` has the parts of its key, joined by \`~\``,
      )
    if (field && parseSegment(field, encodeSegment(value) ?? '') === undefined) {
      throw reject(`\`${value}\` is not a valid ${kindOf(key)} in a URL; \`${key}\` of \`${name}\` must be one`)
    }
  }
  const path = app.routes.reverse(name, Object.fromEntries(given))
  if (path === undefined)
    throw reject(`no URL of \`${name}\` has ${[...given].map((pair) => pair.join('=')).join(' ')}`)
  return path
}

/** Returns the routes with a name, one for each method. */
export function routesOf(app: App, name: string): readonly Route[] {
  return [...app.routes].filter((route) => route.name === name)
}
