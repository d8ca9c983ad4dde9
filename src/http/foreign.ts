import type { IncomingMessage } from 'node:http'
import { Problem } from '../problem.js'
import { quote } from '../resource/query.js'
import type { Cors } from './cors.js'
import type { Hosts } from './hosts.js'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface Guards {
  readonly hosts?: Hosts | undefined
  readonly cors?: Cors | undefined
}

/** Why a request must not be answered because of where it comes from or goes to; undefined for all others. */
export function findForeign(request: IncomingMessage, { hosts, cors }: Guards): Problem | undefined {
  if (hosts && !hosts.admits(request)) {
    const name = quote(request.headers.host ?? '')
    return new Problem(
      'misdirected_request',
      `this server does not answer for the host ${name}; list it under \`api.hosts\` if it should`,
    )
  }
  // Browsers say so themselves, and no page can change it. A form can be sent to any site without asking it first.
  if (request.headers['sec-fetch-site'] !== 'cross-site' || SAFE.has(request.method ?? '') || cors?.allows(request))
    return undefined
  return new Problem(
    'cross_site_request',
    'a page of another site sent this request; list its origin under `api.cors` if it may',
  )
}
