import type { AuthSpec } from '../config/spec.js'
import { Problem } from '../foundation/problem.js'
import { protectedResource } from './protected-resource.js'

/**
 * The problem of a request without a credential; with `reason`, of a credential that is not valid (RFC 6750, section 3). Names the metadata of the
 * service (RFC 9728, section 5.1).
 */
export function unauthorized(auth: AuthSpec, reason?: string): Problem {
  const error = reason === undefined ? '' : ', error="invalid_token"'
  const found = protectedResource(auth)
  const metadata = found ? `, resource_metadata="${found.url}"` : ''
  const headers = { 'WWW-Authenticate': `Bearer realm="${realmOf(auth)}"${error}${metadata}` }
  return new Problem('unauthorized', reason ?? 'sign in to do this', { headers })
}

/** The title of the API as the content of a quoted string (RFC 9110, section 5.6.4). A header can only hold ASCII reliably. */
function realmOf({ title }: AuthSpec): string {
  return title.replaceAll(/["\\]/g, "'").replaceAll(/[^ -~]/gu, '?')
}
