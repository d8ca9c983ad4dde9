import { isToAll } from '../config/spec.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import { findValue, type Path } from '../config/yaml/located.js'
import type { Json } from '../foundation/json.js'
import type { Configured, Widened } from './widened.js'

/** Keys of `auth` that allow nothing by themselves. */
const HARMLESS = ['title', 'url', 'user', 'sets', 'claims']

/** Reports ways to sign in that are new or differ, new roles, and routes for more callers. */
export function widenedAuth(before: Configured, after: Configured): readonly Widened[] {
  const at = (path: Path) => ({ old: findValue(before.root, path), now: findValue(after.root, path) })
  const entry = (path: Path, what: string, now: string, old: Json | undefined): Widened => ({
    what,
    now,
    path,
    before: old === undefined ? [] : [{ text: JSON.stringify(old), path }],
  })
  const differing = membersOf(at(['auth']).now)
    .filter(([key]) => !HARMLESS.includes(key) && !['roles', 'routes', 'development'].includes(key))
    .flatMap(([key, value]) => {
      const { old } = at(['auth', key])
      return JSON.stringify(old) === JSON.stringify(value)
        ? []
        : [entry(['auth', key], `auth.${key}`, JSON.stringify(value), old)]
    })
  const from = at(['auth', 'roles', 'from'])
  const source =
    from.now !== undefined && JSON.stringify(from.old) !== JSON.stringify(from.now)
      ? [entry(['auth', 'roles', 'from'], 'auth.roles.from', JSON.stringify(from.now), from.old)]
      : []
  const roles = (after.spec.auth?.roles ?? [])
    .filter((role) => !before.spec.auth?.roles.includes(role))
    .map((role) => entry(['auth', 'roles', 'names'], `auth.roles.${role}`, `the role ${role}`, undefined))
  const development = membersOf(at(['auth', 'development']).now).flatMap(([name, value]) => {
    const { old } = at(['auth', 'development', name])
    const isSame = JSON.stringify(old) === JSON.stringify(value)
    return isSame ? [] : [entry(['auth', 'development', name], `auth.development.${name}`, JSON.stringify(value), old)]
  })
  const routes = membersOf(at(['auth', 'routes']).now).flatMap(([name, value]) => {
    const { old } = at(['auth', 'routes', name])
    const named = itemsOf(old).map(String)
    const more = (Array.isArray(value) ? itemsOf(value) : [value])
      .map(String)
      .filter((to) => ![...(typeof old === 'string' ? [old] : named)].some((each) => isToAll(each, to)))
    return more.length === 0 ? [] : [entry(['auth', 'routes', name], `auth.routes.${name}`, more.join(', '), old)]
  })
  return [...differing, ...source, ...roles, ...development, ...routes]
}

/** Reports paths under which resources are served once more. */
export function widenedMounts(before: Configured, after: Configured): readonly Widened[] {
  return after.spec.mounts.flatMap(({ path }, index) =>
    before.spec.mounts.some((each) => each.path === path)
      ? []
      : [{ what: `mounts.${path}`, now: `a mount at ${path}`, path: ['mounts', index], before: [] }],
  )
}
