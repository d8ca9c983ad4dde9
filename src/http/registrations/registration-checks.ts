import { inspect } from 'node:util'
import type { Rejection } from '../../config/parse/rejection.js'
import { type AppSpec, type AuthSpec, type ComputedSpec, type Operation, OPERATIONS } from '../../config/spec.js'
import { suggest } from '../../config/words.js'
import type { Resource } from '../../resource/resource.js'
import { type Use, withoutRoutes } from '../middleware/use.js'
import type { Route } from '../route.js'
import type { RouteTable } from '../route-table.js'

/** Clients resolve `.` and `..` before they send a path, so a path with such a segment could never be requested. */
const PATH = /^\/(?:(?!\.\.?\/)(?:[A-Za-z0-9._~-]+|\{[A-Za-z][A-Za-z0-9_]*\})\/)*$/

export function requirePath(what: string, given: unknown): void {
  if (typeof given === 'string' && PATH.test(given)) return
  throw new Error(
    `${what} is ${inspect(given)}; it must start and end with a slash, and each segment must be a {parameter}, or plain text except \`.\` and \`..\``,
  )
}

export function requireOffered({ spec }: Resource, operation: Operation): void {
  if (spec.operations.includes(operation)) return
  const offered = suggest(operation, spec.operations, 'operation').join('; ')
  throw new Error(`the resource \`${spec.name}\` has no operation \`${operation}\` to replace; ${offered}`)
}

/** A bulk request would bypass the replacement for single records. */
export function rejectBulk({ spec }: Resource, operation: Operation): void {
  if (!spec.bulk.operations.some((each) => each === operation)) return
  throw new Error(
    `\`${operation}\` of \`${spec.name}\` accepts several records at once, which would bypass the replacement; remove it from \`bulk\``,
  )
}

/** An export would bypass the replacement for lists. */
export function rejectExport({ spec }: Resource, operation: Operation): void {
  if (operation !== 'list' || !spec.exported) return
  throw new Error(`lists of \`${spec.name}\` are exported, which would bypass the replacement; remove \`export\``)
}

export function requireComputed({ spec }: Resource, field: string): ComputedSpec {
  const found = spec.computed.find((each) => each.field.name === field)
  if (found) return found
  const known = suggest(
    field,
    spec.computed.map((each) => each.field.name),
    'computed field',
  ).join('; ')
  throw new Error(`the resource \`${spec.name}\` declares no computed field \`${field}\`; ${known}`)
}

/** Grants of actions that no plugin has added. */
export function unknownActions({ resources }: AppSpec, routes: Iterable<Route>): readonly Rejection[] {
  const actions = [...routes].flatMap(({ action }) => action ?? [])
  return resources.flatMap(({ name, operations, access = [] }) => {
    const own = actions.filter(({ resource }) => resource.spec.name === name).map((action) => action.name)
    const known: readonly string[] = ['all', ...OPERATIONS, ...own]
    return access.flatMap(({ may }, index) =>
      may
        .filter((each) => !known.includes(each))
        .map((each): Rejection => {
          const help = suggest(each, [...operations, ...own, 'read', 'change', 'all'], 'operation or action')
          const message = `the resource \`${name}\` has no operation or action \`${each}\``
          return { code: 'SC333', path: ['resources', name, 'access', index, 'may'], part: 'value', message, help }
        }),
    )
  })
}

const OWN_METHODS = ['jwt', 'key', 'proxy', 'development']

/** @throws Error if the configuration has no `auth`, or the name means another way to sign in */
export function checkAuthenticator(
  name: string,
  auth: AuthSpec | undefined,
  others: readonly { readonly name: string }[],
): void {
  if (!auth) throw new Error(`authenticate('${name}') needs \`auth\` in the configuration, where grants name callers`)
  if (!OWN_METHODS.includes(name) && !others.some((other) => other.name === name)) return
  throw new Error(`there is already a way to sign in named \`${name}\``)
}

/** Reports middleware for paths and resources that no route has. */
export function usesWithoutRoutes(
  routes: RouteTable,
  uses: readonly Use[],
  plugins: readonly { readonly path: string }[],
): readonly Rejection[] {
  return withoutRoutes(routes, uses).map(({ source, path, resources: [resource] = [] }): Rejection => {
    const target = path ?? `the resource \`${resource?.spec.name}\``
    const message = `the plugin \`${source.replace('plugin ', '')}\`: use() has a middleware for ${target}, where no route is`
    const index = plugins.findIndex((each) => source === `plugin ${each.path}`)
    const help =
      path === undefined
        ? ['give the resource `operations`, or remove the middleware']
        : suggest(path, [...new Set([...routes].map((each) => each.path))], 'path')
    return { code: 'SC353', path: ['plugins', index], part: 'value', message, help }
  })
}

/** Reports computed fields that no plugin computes. */
export function uncomputedFields(
  { resources }: AppSpec,
  computedOf: (resource: string) => ReadonlyMap<string, unknown> | undefined,
): readonly Rejection[] {
  return resources.flatMap(({ name, computed }) => {
    const known = computedOf(name)
    return computed
      .filter(({ field }) => known?.has(field.name) !== true)
      .map(({ field, from }): Rejection => {
        const example = `app.compute('${name}', '${field.name}', ({ ${from.map((each) => each.name).join(', ')} }) => …)`
        const message = `no plugin computes \`${field.name}\` of \`${name}\``
        const path = ['resources', name, 'computed', field.name]
        return { code: 'SC355', path, part: 'key', message, help: [`compute it in a plugin with \`${example}\``] }
      })
  })
}
