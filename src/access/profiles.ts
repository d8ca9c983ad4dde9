import {
  ANYONE,
  type AppSpec,
  type GrantSpec,
  type ModelRelation,
  type Operation,
  type ResourceSpec,
  SIGNED_IN,
} from '../config/spec.js'
import { remember, rememberByText } from '../foundation/remember.js'
import { type Caller, type Membership, type Reading, readingOf, showingAll, visibleRule } from '../resource/access.js'
import type { Identity } from '../resource/identity.js'
import type { Links } from '../resource/bodies/links.js'
import { compileResource, type Resource } from '../resource/resource.js'
import type { CompileSchema } from '../resource/validator.js'
import { type Applicable, grantsFor, restrict } from './restrict.js'
import { membershipsIn, formatRights } from './rights.js'

/** The rights of callers with the same roles. */
export interface Profile {
  /** Whether these callers are among those that a list names: `anyone`, `signed_in`, or roles. */
  isAmong(named: readonly string[]): boolean
  /** Whether some grant allows an operation or an action of a resource. */
  allows(resource: Resource, name: string): boolean
  /** Where the configuration has the grants that allow an operation or an action of a resource, such as `task.access[1]`. */
  grantPlaces(resource: Resource, name: string): readonly string[]
  /** All their grants as text. */
  rights(): string
  /** The memberships on which their grants depend. */
  memberships(): readonly Membership[]
  /** The resource as these callers see it; `change` is the operation whose grants changes need. */
  resource(resource: Resource, change?: Operation): Resource
}

/** The profiles of all callers, by their roles. */
export type Profiles = (identity: Identity | undefined) => Profile

/** Profiles that are kept: more combinations of roles are rare. */
const MAX_PROFILES = 100

/** Returns the profiles of callers; undefined without `auth`, when everybody may do everything. */
export function compileProfiles(spec: AppSpec, links: Links, compile: CompileSchema): Profiles | undefined {
  const { auth } = spec
  if (auth === undefined) return undefined
  const all = [...spec.resources, ...spec.mounts.flatMap(({ resources }) => resources)]
  const profileOf = rememberByText(MAX_PROFILES, (names) => compileProfile(all, names.split(','), { links, compile }))
  const nobody = profileOf(ANYONE)
  const signedIn = remember(({ roles }: Identity) =>
    profileOf([ANYONE, SIGNED_IN, ...auth.roles.filter((role) => roles.includes(role))].join()),
  )
  return (identity) => (identity ? signedIn(identity) : nobody)
}

/** The caller in rules. */
export function callerOf(identity: Identity | undefined): Caller {
  return identity ?? NOBODY
}

const NOBODY: Caller = { subject: undefined, claims: {} }

/** The reading of records that no resource shows. */
const NOTHING: Reading = { parts: [] }

function compileProfile(
  all: readonly ResourceSpec[],
  names: readonly string[],
  { links, compile }: { readonly links: Links; readonly compile: CompileSchema },
): Profile {
  const grants = remember((spec: ResourceSpec): readonly GrantSpec[] =>
    (spec.access ?? []).filter(({ to }) => names.includes(to)),
  )
  const readings = new Map<string, Reading>()
  for (const { model } of all) {
    const exposing = all.filter(({ model: { table }, mounted }) => table === model.table && mounted === undefined)
    readings.set(
      model.table,
      readingOf(
        model,
        exposing.flatMap((spec) => grantsFor(grants(spec), 'retrieve')),
      ),
    )
  }
  const readingAt = (table: string): Reading => readings.get(table) ?? NOTHING
  const applicable: Applicable = {
    grants,
    retrievable: (table) => visibleRule(readingAt(table)),
    // Retrieving a record tells its key, and nothing else that is hidden.
    nameable: remember(({ target, parts }: ModelRelation) =>
      showingAll(readingAt(target.table), target.isKey ? [] : parts.map(({ to }) => to.name)),
    ),
    resource: (name) => all.find((each) => each.name === name),
  }
  const own = new WeakSet<Resource>()
  let rights: string | undefined
  let memberships: readonly Membership[] | undefined
  const restrictFor = (change: 'update' | 'partial_update') =>
    remember((resource: Resource) => {
      const { spec, view } = restrict(resource.spec, grants(resource.spec), applicable, change)
      const made = compileResource(spec, links, compile, view)
      own.add(made)
      return made
    })
  const restricted = { update: restrictFor('update'), partial_update: restrictFor('partial_update') }
  return {
    rights: () => (rights ??= formatRights(all, grants)),
    memberships: () => (memberships ??= membershipsIn(all.flatMap(grants))),
    isAmong: (named) => named.some((name) => names.includes(name)),
    allows: ({ spec }, name) => grantsFor(grants(spec), name).length > 0,
    grantPlaces: ({ spec }, name) =>
      grantsFor(grants(spec), name).map(
        (grant) => `${spec.mounted ?? spec.name}.access[${spec.access?.indexOf(grant)}]`,
      ),
    resource: (resource, change) =>
      own.has(resource) ? resource : restricted[change === 'update' ? change : 'partial_update'](resource),
  }
}
