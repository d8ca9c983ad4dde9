import type { Json } from '../foundation/json.js'

/** The caller of a request, as identified by its credential. */
export interface Identity {
  readonly subject: string
  /** Roles that the configuration names. */
  readonly roles: readonly string[]
  /** The claims that the configuration names. */
  readonly claims: Readonly<Record<string, Json>>
  /** How the caller signed in: `jwt`, `key`, `proxy`, `development`, or the name that a plugin gave. */
  readonly method: string
}
