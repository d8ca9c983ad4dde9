import type { FieldSpec, Operation } from '../config/spec.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import { quoted } from '../foundation/shell-word.js'
import { type Context, type Route, resourceAt } from '../http/route.js'
import type { ApiPath, Explored } from './place.js'

/** A resource as the caller of a page sees it. */
export interface Seen {
  readonly resource: Resource
  /** Whether the caller may request this operation for at least one record. */
  readonly may: (operation: Operation) => boolean
  /** Whether the caller may run this action on at least one record. */
  readonly runs: (action: string) => boolean
  /** The fields that the caller may set; for PUT, which sends whole records, also those that it sees. */
  readonly settable: (method: 'POST' | 'PUT' | 'PATCH') => readonly FieldSpec[]
}

/** The parts of a resource that pages show and offer. */
export function seenBy({ profiles }: Explored, given: Resource, identity: Identity | undefined): Seen {
  const profile = profiles?.(identity)
  const resource = profile?.resource(given) ?? given
  return {
    resource,
    may: (operation) =>
      given.spec.operations.includes(operation) && (profile === undefined || profile.allows(given, operation)),
    runs: (action) => profile === undefined || profile.allows(given, action),
    settable(method) {
      const { sendable, spec } = (method === 'PUT' && profile?.resource(given, 'update')) || resource
      if (sendable === undefined) return spec.model.fields
      if (method === 'PUT') return sendable.change.fields
      const { granted } = method === 'POST' ? sendable.create : sendable.change
      return spec.model.fields.filter(({ name }) => granted.has(name))
    },
  }
}

const CHANGES: readonly Operation[] = ['update', 'partial_update', 'destroy']

/** The parts that the page of a record shows and offers. One statement finds the grants that cover the record; others offer nothing. */
export async function seenAt(
  explored: Explored,
  { resource: given, path }: ApiPath & { readonly resource: Resource },
  context: Context,
): Promise<Seen> {
  const seen = seenBy(explored, given, context.identity)
  const { access, key, spec } = seen.resource
  const id = key.parse(path.slice(spec.path.length, -1))
  if (!access || id === undefined) return seen
  const actions = [...explored.routes].flatMap(({ action }) =>
    action?.on === 'record' && action.resource.spec.name === spec.name ? [action.name] : [],
  )
  const grants = new Set([...CHANGES, ...actions].flatMap(access.granting))
  const covering = new Set(await context.documents(given).covering([...grants], id))
  const coveringFor = (name: string) => access.granting(name).filter((grant) => covering.has(grant))
  return {
    resource: seen.resource,
    may: (operation) => seen.may(operation) && (!CHANGES.includes(operation) || coveringFor(operation).length > 0),
    runs: (action) => seen.runs(action) && coveringFor(action).length > 0,
    settable(method) {
      const fields = seen.settable(method)
      if (method !== 'PATCH') return fields
      return fields.filter(({ name }) => coveringFor('partial_update').some((grant) => grant.fields.includes(name)))
    },
  }
}

/** The application for one caller: without resources and routes that the caller cannot use at all. */
export function exploredBy(explored: Explored, { identity, headers }: Pick<Context, 'identity' | 'headers'>): Explored {
  const resources = explored.resources.filter((resource) => {
    const { may } = seenBy(explored, resource, identity)
    return resource.spec.operations.some(may)
  })
  return { ...explored, resources, caller: identity, credential: identity && credentialOption(identity, headers) }
}

/** The option by which curl sends a credential. The secret is not part of it: the shell takes it from a variable. */
function credentialOption({ method, subject }: Identity, { authorization }: Context['headers']): string | undefined {
  if (method === 'development') return `-H ${quoted(`Authorization: Dev ${subject}`)}`
  const [, scheme] = /^([A-Za-z][\w-]*) /.exec(String(authorization ?? '')) ?? []
  return scheme === undefined ? undefined : `-H "Authorization: ${scheme} $TOKEN"`
}

/** The paths of routes without a resource that the caller may request. */
export function pluginPaths({ routes, profiles, auth, caller }: Explored): readonly string[] {
  const profile = profiles?.(caller)
  const isGranted = ({ name }: Route) => !auth || !profile || profile.isAmong(auth.routes[name] ?? [])
  return [...new Set([...routes].filter((route) => !resourceAt(route) && isGranted(route)).map(({ path }) => path))]
}
