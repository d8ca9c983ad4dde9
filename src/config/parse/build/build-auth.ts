import { dirname, resolve } from 'node:path'
import { fieldType } from '../../../fields/index.js'
import { fail } from '../../../foundation/fail.js'
import type { AuthYaml } from '../../schema/yaml-shape.js'
import type { AuthSpec } from '../../spec.js'

/** The types of claims that are not texts, in JSON. */
const JSON_TYPES: Readonly<Record<string, 'number' | 'boolean'>> = {
  integer: 'number',
  bigint: 'number',
  boolean: 'boolean',
}

/** What `auth` says, with every default filled in; paths are relative to `file`. */
export function buildAuth(
  { url, roles, claims, jwt, keys, proxy, routes, development }: AuthYaml,
  { title, file }: { readonly title: string; readonly file: string },
): AuthSpec {
  return {
    roles: [...(roles?.names ?? [])],
    rolesFrom: roles?.from && [...roles.from],
    claims: Object.entries(claims ?? {}).map(([name, { type, from = [name] }]) => ({
      name,
      from: [...from],
      type: JSON_TYPES[type] ?? 'string',
      declared: fieldType(type) ?? fail(`a claim of a type that was never checked: ${type}`),
    })),
    jwt: jwt && {
      issuer: jwt.issuer,
      audience: jwt.audience,
      algorithms: [...jwt.algorithms],
      jwks: jwt.jwks,
      keys: jwt.keys === undefined ? undefined : resolve(dirname(file), jwt.keys),
      typ: jwt.typ,
      header: jwt.header?.toLowerCase(),
    },
    keys: keys === true,
    proxy: proxy && {
      from: [...proxy.from],
      subject: proxy.subject.toLowerCase(),
      roles: proxy.roles?.toLowerCase(),
    },
    url,
    title,
    routes: Object.fromEntries(
      Object.entries(routes ?? {}).map(([name, who]) => [name, typeof who === 'string' ? [who] : [...who]]),
    ),
    development: Object.entries(development ?? {}).map(([subject, { roles: own = [], claims: known = {} }]) => ({
      subject,
      roles: [...own],
      claims: { ...known },
      method: 'development',
    })),
  }
}
