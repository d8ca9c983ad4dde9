import type { IncomingMessage } from 'node:http'
import { Problem } from '../problem.js'
import type { Cors } from './cors.js'
import { type Hosts, nameIn, nameOf } from './hosts.js'
import type { PublicUrl } from './public-url.js'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface Guards {
  readonly hosts?: Hosts | undefined
  readonly cors?: Cors | undefined
  readonly publicUrl?: PublicUrl | undefined
}

/**
 * Why a request must not be answered because of where it comes from or goes to; undefined for all others.
 * @param crossSite whether the route or mount that takes it is meant for pages of other sites
 */
export type FindForeign = (request: IncomingMessage, crossSite?: boolean) => Problem | undefined

export function compileForeign({ hosts, cors, publicUrl = () => '' }: Guards): FindForeign {
  return (request, crossSite) => {
    if (hosts && !hosts.admits(request)) {
      const name = nameOf(request.headers.host ?? '')
      return new Problem(
        'misdirected_request',
        `this server does not answer for the host \`${name}\`; list it under \`api.hosts\` if it should`,
      )
    }
    if (SAFE.has(request.method ?? '') || crossSite === true || !isFromOtherSite(request, publicUrl)) return undefined
    if (cors?.allows(request)) return undefined
    return new Problem(
      'cross_site_request',
      'a page of another site sent this request; list its origin under `api.cors` if it may',
    )
  }
}

/**
 * Browsers say it by headers that no page can change. A form can be sent to any site without asking it first. From pages over plain HTTP and
 * from old browsers there is the origin alone: another port of the same host is the same site, as for `Sec-Fetch-Site`, but another subdomain
 * is not, because only a list of public suffixes could tell `a.example.org` from `a.github.io`.
 */
function isFromOtherSite(request: IncomingMessage, publicUrl: PublicUrl): boolean {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers
  if (site !== undefined) return site === 'cross-site'
  if (origin === undefined) return false
  const name = nameIn(origin)
  return name === '' || (name !== nameOf(host) && name !== nameIn(publicUrl(request)))
}
