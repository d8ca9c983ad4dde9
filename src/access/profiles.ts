import { ANYONE, type AppSpec, type GrantSpec, type Operation, type ResourceSpec, SIGNED_IN } from '../config/spec.js'
import { remember } from '../remember.js'
import type { Caller } from '../resource/access.js'
import type { Identity } from '../resource/identity.js'
import type { Links } from '../resource/links.js'
import { compileResource, type Resource } from '../resource/resource.js'
import type { CompileSchema } from '../resource/validator.js'
import { type Applicable, grantsFor, restrict } from './restrict.js'

/** What callers with the same roles may do. */
export interface Profile {
  /** Whether these callers are among those that a list names: `anyone`, `signed_in`, or roles. */
  isAmong(named: readonly string[]): boolean
  /** Whether some grant allows an operation or an action of a resource. */
  allows(resource: Resource, name: string): boolean
  /** The resource as these callers see it; `change` is the operation whose grants changes need. */
  resource(resource: Resource, change?: Operation): Resource
}

/** The profiles of all callers, by their roles. */
export type Profiles = (identity: Identity | undefined) => Profile

/** Profiles that are kept: more combinations of roles are rare. */
const MAX_PROFILES = 100

/** Undefined without `auth`, when everybody may do everything. */
export function compileProfiles(spec: AppSpec, links: Links, compile: CompileSchema): Profiles | undefined {
  const { auth } = spec
  if (auth === undefined) return undefined
  const all = [...spec.resources, ...spec.mounts.flatMap(({ resources }) => resources)]
  const known = new Map<string, Profile>()
  return (identity) => {
    const roles = identity ? auth.roles.filter((role) => identity.roles.includes(role)) : []
    const key = identity ? roles.join() : ANYONE
    const found = known.get(key)
    if (found) return found
    if (known.size >= MAX_PROFILES) known.delete(known.keys().next().value ?? '')
    const profile = compileProfile(all, identity ? [ANYONE, SIGNED_IN, ...roles] : [ANYONE], { links, compile })
    known.set(key, profile)
    return profile
  }
}

/** What rules need to know of a caller. */
export function callerOf(identity: Identity | undefined): Caller {
  return identity ? { subject: identity.subject, claims: identity.claims } : NOBODY
}

const NOBODY: Caller = { subject: undefined, claims: {} }

function compileProfile(
  all: readonly ResourceSpec[],
  names: readonly string[],
  { links, compile }: { readonly links: Links; readonly compile: CompileSchema },
): Profile {
  const grants = remember((spec: ResourceSpec): readonly GrantSpec[] =>
    (spec.access ?? []).filter(({ to }) => names.includes(to)),
  )
  const applicable: Applicable = {
    grants,
    exposing: (table) => all.filter(({ model, mounted }) => model.table === table && mounted === undefined),
    resource: (name) => all.find((each) => each.name === name),
  }
  const own = new WeakSet<Resource>()
  const restrictFor = (change: 'update' | 'partial_update') =>
    remember((resource: Resource) => {
      const { spec, view } = restrict(resource.spec, grants(resource.spec), applicable, change)
      const made = compileResource(spec, links, compile, view)
      own.add(made)
      return made
    })
  const restricted = { update: restrictFor('update'), partial_update: restrictFor('partial_update') }
  return {
    isAmong: (named) => named.some((name) => names.includes(name)),
    allows: ({ spec }, name) => grantsFor(grants(spec), name).length > 0,
    resource: (resource, change) =>
      own.has(resource) ? resource : restricted[change === 'update' ? change : 'partial_update'](resource),
  }
}
