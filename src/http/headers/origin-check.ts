import type { IncomingMessage } from 'node:http'
import { Problem } from '../../foundation/problem.js'
import type { Cors } from './cors.js'
import { type Hosts, nameIn, nameOf } from './hosts.js'
import type { PublicUrl } from './public-url.js'

/** The methods whose requests change nothing (RFC 9110, 9.2.1). */
export const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface Guards {
  readonly hosts?: Hosts | undefined
  readonly cors?: Cors | undefined
  readonly publicUrl?: PublicUrl | undefined
}

/**
 * Returns the problem of a request for an unknown host or from another site; undefined if it is allowed.
 * @param crossSite whether the route or mount accepts writes from other sites
 */
export type OriginCheck = (request: IncomingMessage, crossSite?: boolean) => Problem | undefined

export function compileOriginCheck({ hosts, cors, publicUrl = () => '' }: Guards): OriginCheck {
  return (request, crossSite) => {
    if (hosts && !hosts.admits(request)) {
      const name = nameOf(request.headers.host ?? '')
      return new Problem(
        'misdirected_request',
        `this server does not serve the host \`${name}\`; to allow it, list it under \`api.hosts\``,
      )
    }
    if (SAFE.has(request.method ?? '') || crossSite === true || !isFromOtherSite(request, publicUrl)) return undefined
    if (cors?.names(request) || (cors?.allows(request) && needsPreflight(request))) return undefined
    return new Problem(
      'cross_site_request',
      'a page of another site sent this request; to allow it, list its origin under `api.cors`',
    )
  }
}

/** The media types of forms, which a page may send to any site. */
const FORMS = new Set(['', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'])

/**
 * Whether a browser sends such a request of a script only after a preflight (Fetch standard, 2.2). After the preflight of an origin that only `*`
 * allows, it sends no cookies and nothing else that signs somebody in.
 */
function needsPreflight({ method, headers }: IncomingMessage): boolean {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  return method !== 'POST' || headers.authorization !== undefined || !FORMS.has(type)
}

/**
 * Browsers send the site in headers that no page can change. Forms can be sent to any site without a preflight. Pages over plain HTTP and old
 * browsers send only the origin. Another port of the same host is the same site, but another subdomain is not, whose pages may be of somebody else:
 * `same-site` alone does not tell them apart. Neither does a value that browsers do not send.
 */
function isFromOtherSite(request: IncomingMessage, publicUrl: PublicUrl): boolean {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers
  if (site === 'cross-site') return true
  if (origin === undefined || site === 'same-origin' || site === 'none') return false
  const name = nameIn(origin)
  return name === '' || (name !== nameOf(host) && name !== nameIn(publicUrl(request)))
}
