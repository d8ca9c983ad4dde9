import type { AuthSpec } from '../config/spec.js'
import { Problem } from '../problem.js'

/** The problem of a request without a credential; with `reason`, of a credential that is not valid (RFC 6750, section 3). */
export function unauthorized({ realm }: AuthSpec, reason?: string): Problem {
  const error = reason === undefined ? '' : ', error="invalid_token"'
  const headers = { 'WWW-Authenticate': `Bearer realm="${realm}"${error}` }
  return new Problem('unauthorized', reason ?? 'sign in to do this', { headers })
}
