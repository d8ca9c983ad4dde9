import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HOST } from '../../../config/host.js'
import { Problem } from '../../../foundation/problem.js'

/**
 * Headers of every response, as a flat list. JSON must never be sniffed, framed, or cached across users. No URLs are sent to other sites; the
 * stricter `no-referrer` would send even our own forms with `Origin: null`.
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
const MAX_AUTHORITY_LENGTH = 255
/** A name may end with a dot. */
const AUTHORITY = new RegExp(`^${HOST}\\.?(?::[0-9]{0,5})?$`)

/** Whether a text is a host with an optional port, as in `Host`. */
export function isAuthority(text: string): boolean {
  return text.length <= MAX_AUTHORITY_LENGTH && AUTHORITY.test(text)
}

/** Returns the client's request ID if it is safe and short enough for a log; otherwise a random one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

export const UNSUPPORTED_VERSION = ['unsupported_version', 'only HTTP 1.1 and 1.0 are supported'] as const

/** Validates the head of a request. After an error, the connection cannot be trusted. */
export function findHeadProblem(request: IncomingMessage, maxHeaders: number): Problem | undefined {
  const { rawHeaders, headers } = request
  // Node's parser accepts 0.9 and 2.0, too.
  if (request.httpVersionMajor !== 1) return new Problem(...UNSUPPORTED_VERSION)
  const count = rawHeaders.length / 2
  // Node silently drops headers beyond its own maximum, which the server sets above ours.
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
    return new Problem('unsupported_transfer', 'the only supported transfer coding is chunked')
  }
  // RFC 9112, 6.1: such a message was framed for a proxy that does not know the coding.
  if (coding !== undefined && request.httpVersion === '1.0')
    return new Problem('malformed_request', 'a request in HTTP/1.0 cannot have Transfer-Encoding')
  const { expect } = headers
  if (expect === undefined || expect.toLowerCase() === '100-continue' || request.httpVersion === '1.0') return undefined
  return new Problem('expectation_failed', 'the only supported expectation is 100-continue')
}

/**
 * Replaces `Host` by the authority of an absolute-form target (RFC 9112, 3.2.2), for all later checks.
 * @returns the problem if it is invalid
 */
export function takeAuthority({ headers }: IncomingMessage, authority: string): Problem | undefined {
  headers.host = authority
  if (isAuthority(authority)) return undefined
  return new Problem('malformed_request', 'the host in the request target is not a host name with an optional port')
}

/** Counts the occurrences of a header; Node keeps one of several. `name` is lower-case. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]
    if (given?.length === name.length && given.toLowerCase() === name) count += 1
  }
  return count
}

/** Replaces a header in a flat list, or adds it. */
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

/** Sets the headers of every response. */
export function setDefaultHeaders(response: ServerResponse, requestId: string, close: boolean): void {
  setHeaders(response, SECURITY_HEADERS)
  response.setHeader('X-Request-Id', requestId)
  if (close) response.setHeader('Connection', 'close')
}

/** @param list names and values in turn */
export function setHeaders(response: ServerResponse, list: readonly string[]): void {
  for (let index = 0; index < list.length; index += 2) response.setHeader(list[index] ?? '', list[index + 1] ?? '')
}
