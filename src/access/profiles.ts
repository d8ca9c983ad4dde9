import {
  ANYONE,
  type AppSpec,
  type GrantSpec,
  type ModelRelation,
  type Operation,
  type ResourceSpec,
  SIGNED_IN,
} from '../config/spec.js'
import { keepRecent, remember, rememberByText } from '../foundation/remember.js'
import { type Caller, type Membership, type Reading, readingOf, showingAll, visibleRule } from '../resource/access.js'
import type { Identity } from '../resource/identity.js'
import type { Links } from '../resource/bodies/links.js'
import { compileResource, type Resource } from '../resource/resource.js'
import type { CompileSchema } from '../resource/validator.js'
import { type Applicable, grantsFor, restrict } from './restrict.js'
import { formatAllowed, formatRights, membershipsIn } from './rights.js'

/** The rights of callers with the same roles. */
export interface Profile {
  /** Whether these callers are among those that a list names: `anyone`, `signed_in`, or roles. */
  isAmong(named: readonly string[]): boolean
  /** Whether some grant allows an operation or an action of a resource. */
  allows(resource: Resource, name: string): boolean
  /** Where the configuration has the grants that allow an operation or an action of a resource, such as `task.access[1]`. */
  grantPlaces(resource: Resource, name: string): readonly string[]
  /** The rights from their grants, as text. Roles whose grants differ only in the name of the role have the same text. */
  allowed(): string
  /** All their grants as text. */
  rights(): string
  /** The memberships on which their grants depend. */
  memberships(): readonly Membership[]
  /** The resource as these callers see it; `change` is the operation whose grants changes need. */
  resource(resource: Resource, change?: Operation): Resource
}

/** The profiles of all callers, by their roles. */
export type Profiles = (identity: Identity | undefined) => Profile

/** Resources that are kept, over all profiles. Each takes about 0.1 MB, so they would fill the memory if there are many combinations of roles. */
const MAX_RESOURCES = 4_000
/** The memory that the grants of a profile take for each resource, in resources. */
const WEIGHT_OF_GRANTS = 0.05
/** The combinations that are kept however many resources there are. */
const MIN_PROFILES = 32

/** Returns the profiles of callers; undefined without `auth`, when everybody may do everything. */
export function compileProfiles(spec: AppSpec, links: Links, compile: CompileSchema): Profiles | undefined {
  const { auth } = spec
  if (auth === undefined) return undefined
  const all = [...spec.resources, ...spec.mounts.flatMap(({ resources }) => resources)]
  const named = new Set([
    ...all.flatMap(({ access = [] }) => access.map(({ to }) => to)),
    ...Object.values(auth.routes).flat(),
  ])
  const roles = auth.roles.filter((role) => named.has(role))
  const madeFor = new WeakMap<Resource, string>()
  const kept = keepRecent<Profile>(Math.max(MAX_RESOURCES, MIN_PROFILES * all.length))
  const profileOf = (names: string) =>
    kept(names, (grow) => {
      const made = (resource: Resource): void => {
        madeFor.set(resource, names)
        grow(1)
      }
      grow(Math.ceil(all.length * WEIGHT_OF_GRANTS))
      return compileProfile(all, names.split(','), {
        links,
        compile,
        made,
        isOwn: (each) => madeFor.get(each) === names,
      })
    })
  const nobody = profileOf(ANYONE)
  // Identities live longer than profiles may.
  const namesOf = remember((identity: Identity) =>
    [ANYONE, SIGNED_IN, ...roles.filter((role) => identity.roles.includes(role))].join(),
  )
  return (identity) => (identity ? profileOf(namesOf(identity)) : nobody)
}

/** The caller in rules. */
export function callerOf(identity: Identity | undefined): Caller {
  return identity ?? NOBODY
}

const NOBODY: Caller = { subject: undefined, claims: {} }

/** The reading of records that no resource shows. */
const NOTHING: Reading = { parts: [] }

interface Making {
  readonly links: Links
  readonly compile: CompileSchema
  /** Called with each resource of the profile. */
  readonly made: (resource: Resource) => void
  /** Whether this profile made the resource, or an earlier profile of the same roles. */
  readonly isOwn: (resource: Resource) => boolean
}

function compileProfile(
  all: readonly ResourceSpec[],
  names: readonly string[],
  { links, compile, made, isOwn }: Making,
): Profile {
  const grants = remember((spec: ResourceSpec): readonly GrantSpec[] =>
    (spec.access ?? []).filter(({ to }) => names.includes(to)),
  )
  const readingAt = rememberByText(all.length, (table): Reading => {
    const exposing = all.filter(({ model, mounted }) => model.table === table && mounted === undefined)
    const retrieving = exposing.flatMap((spec) => grantsFor(grants(spec), 'retrieve'))
    const [first] = exposing
    return first ? readingOf(first.model, retrieving) : NOTHING
  })
  const applicable: Applicable = {
    grants,
    retrievable: (table) => visibleRule(readingAt(table)),
    // Retrieving a record tells its key, and nothing else that is hidden.
    nameable: remember(({ target, parts }: ModelRelation) =>
      showingAll(readingAt(target.table), target.isKey ? [] : parts.map(({ to }) => to.name)),
    ),
    resource: (name) => all.find((each) => each.name === name),
  }
  let rights: string | undefined
  let memberships: readonly Membership[] | undefined
  const restrictFor = (change: 'update' | 'partial_update') =>
    remember((resource: Resource) => {
      const { spec, view } = restrict(resource.spec, grants(resource.spec), applicable, change)
      const restricted = compileResource(spec, links, compile, view)
      made(restricted)
      return restricted
    })
  const restricted = { update: restrictFor('update'), partial_update: restrictFor('partial_update') }
  return {
    allowed: () => formatAllowed(all, grants),
    rights: () => (rights ??= formatRights(all, grants)),
    memberships: () => (memberships ??= membershipsIn(all.flatMap(grants))),
    isAmong: (named) => named.some((name) => names.includes(name)),
    allows: ({ spec }, name) => grantsFor(grants(spec), name).length > 0,
    grantPlaces: ({ spec }, name) =>
      grantsFor(grants(spec), name).map(
        (grant) => `${spec.mounted ?? spec.name}.access[${spec.access?.indexOf(grant)}]`,
      ),
    resource: (resource, change) =>
      isOwn(resource) ? resource : restricted[change === 'update' ? change : 'partial_update'](resource),
  }
}
