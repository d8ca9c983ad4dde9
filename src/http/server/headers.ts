import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HOST } from '../../config/host.js'
import { Problem } from '../../problem.js'

/**
 * On every answer, as a flat list of names and values. JSON must never be sniffed, framed or cached across users. Other sites learn no address;
 * under `no-referrer`, browsers would send own forms with `Origin: null`, too.
 */
export const SECURITY_HEADERS: readonly string[] = Object.freeze([
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'same-origin',
  'Cache-Control',
  'no-store',
  'Cross-Origin-Resource-Policy',
  'same-origin',
])

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/
const LONGEST_AUTHORITY = 255
/** The dot of the root may end a name. */
const AUTHORITY = new RegExp(`^${HOST}\\.?(?::[0-9]{0,5})?$`)

/** Whether a text is a host with an optional port, as in `Host`. */
export function isAuthority(text: string): boolean {
  return text.length <= LONGEST_AUTHORITY && AUTHORITY.test(text)
}

/** The client's id when it is plain and short enough for a log; otherwise a random one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** What is wrong with the head of a request, whatever it asks for. The connection cannot be trusted after such a request. */
export function findHeadProblem(request: IncomingMessage, maxHeaders: number): Problem | undefined {
  const { rawHeaders, headers, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1 || httpVersionMinor > 1)
    return new Problem('unsupported_version', 'the versions of HTTP that are understood are 1.1 and 1.0')
  const count = rawHeaders.length / 2
  // Node drops headers beyond its own maximum in silence; the server sets that maximum above ours.
  if (count > maxHeaders) return new Problem('headers_too_large', `a request may have at most ${maxHeaders} headers`)
  const hosts = countHeader(rawHeaders, 'host')
  if (hosts > 1) return new Problem('malformed_request', 'the request has more than one Host header')
  if (hosts === 0 && request.httpVersion !== '1.0')
    return new Problem('malformed_request', 'the request has no Host header')
  if (hosts === 1 && !isAuthority(headers.host ?? '')) {
    return new Problem('malformed_request', 'the Host header is not a host name with an optional port')
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return new Problem('unsupported_transfer', 'the only transfer coding that is understood is chunked')
  }
  const { expect } = headers
  if (expect === undefined || expect.toLowerCase() === '100-continue' || request.httpVersion === '1.0') return undefined
  return new Problem('expectation_failed', 'the only expectation that can be met is 100-continue')
}

/**
 * Has the authority of an absolute-form target replace `Host` (RFC 9112, 3.2.2), for everything that looks at the host of the request.
 * @returns what is wrong with it
 */
export function takeAuthority({ headers }: IncomingMessage, authority: string): Problem | undefined {
  headers.host = authority
  if (isAuthority(authority)) return undefined
  return new Problem('malformed_request', 'the host in the request target is not a host name with an optional port')
}

/** How often a header is given; Node keeps one of several. `name` is lower-case. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]
    if (given?.length === name.length && given.toLowerCase() === name) count += 1
  }
  return count
}

/** Puts a header into a flat list in place of the one of the same name. */
export function setHeader(headers: string[], name: string, value: string): void {
  const wanted = name.toLowerCase()
  for (let index = 0; index < headers.length; index += 2) {
    const given = headers[index]
    if (given?.length !== name.length || given.toLowerCase() !== wanted) continue
    headers[index + 1] = value
    return
  }
  headers.push(name, value)
}
