import type { AuthSpec } from '../config/spec.js'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** The document that tells clients how to sign in (RFC 9728). */
export interface ProtectedResource {
  readonly url: string
  readonly path: string
  readonly document: Readonly<Record<string, unknown>>
}

/** The metadata of the service; undefined without `auth.url`. Its path is the well-known one, followed by the path of the URL (section 3.1). */
export function protectedResource({ url, jwt, title }: AuthSpec): ProtectedResource | undefined {
  if (url === undefined) return undefined
  const { origin, pathname } = new URL(url)
  const path = WELL_KNOWN + (pathname === '/' ? '' : pathname)
  return {
    url: origin + path,
    path,
    document: {
      resource: url,
      ...(jwt && { authorization_servers: [jwt.issuer] }),
      bearer_methods_supported: ['header'],
      resource_name: title,
    },
  }
}

/** The headers on which responses depend, for `Vary`. */
export function credentialHeaders({ jwt, proxy }: AuthSpec): string {
  return ['authorization', jwt?.header, proxy?.subject, proxy?.roles].filter((name) => name !== undefined).join(', ')
}
