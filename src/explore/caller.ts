import type { Operation } from '../config/spec.js'
import type { Identity } from '../resource/identity.js'
import type { Resource } from '../resource/resource.js'
import type { Explored } from './place.js'

/** A resource as the caller of a page sees it. */
export interface Seen {
  readonly resource: Resource
  /** Whether the caller may do this to some record. */
  readonly may: (operation: Operation) => boolean
}

/** What pages show and offer of a resource. */
export function seenBy({ profiles }: Explored, given: Resource, identity: Identity | undefined): Seen {
  const profile = profiles?.(identity)
  const resource = profile?.resource(given) ?? given
  return {
    resource,
    may: (operation) =>
      given.spec.operations.includes(operation) && (profile === undefined || profile.allows(given, operation)),
  }
}
