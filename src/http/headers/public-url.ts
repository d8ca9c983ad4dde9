import type { IncomingMessage } from 'node:http'
import { compileRanges } from '../../config/address-ranges.js'
import type { ApiSpec } from '../../config/spec.js'
import { isAuthority } from '../server/replies/headers.js'
import { compileNames } from './hosts.js'

/** Returns the URL under which the client reaches the service, without a trailing slash; empty if no trusted source provides it. */
export type PublicUrl = (request: IncomingMessage) => string

/** Reads the URL from the headers of a trusted proxy, otherwise from the configuration. A client's `Host` is never trusted. */
export function compilePublicUrl({
  publicUrl,
  trustedProxies,
  hosts,
}: Pick<ApiSpec, 'publicUrl' | 'trustedProxies' | 'hosts'>): PublicUrl {
  const usual = publicUrl ?? ''
  if (trustedProxies.length === 0) return () => usual
  const isTrusted = compileRanges(trustedProxies)
  const isListed = hosts.length === 0 ? () => true : compileNames(hosts)
  return ({ socket: { remoteAddress }, headers }) => {
    const said = isTrusted(remoteAddress) ? readForwarded(headers) : ''
    return said !== '' && isListed(hostOf(said)) ? said : usual
  }
}

/**
 * Reads the URL from the proxy's headers: `Forwarded`, or `X-Forwarded-Proto` and `X-Forwarded-Host`. Of several values, the last is the proxy's own. A
 * proxy that sets only one of the two forms may forward the other as the client sent it; if they differ, both are ignored.
 */
function readForwarded(headers: IncomingMessage['headers']): string {
  const { forwarded, 'x-forwarded-proto': proto, 'x-forwarded-host': host } = headers
  const plain = toUrl(lastOf(proto), lastOf(host))
  if (forwarded === undefined) return plain
  const said = readParameters(lastOf(forwarded))
  const standard = toUrl(said.get('proto'), said.get('host'))
  return (proto === undefined && host === undefined) || plain === standard ? standard : ''
}

function toUrl(scheme: string | undefined, host: string | undefined): string {
  if (scheme === undefined || host === undefined || !/^https?$/i.test(scheme)) return ''
  return isAuthority(host) ? `${scheme.toLowerCase()}://${host.toLowerCase()}` : ''
}

function hostOf(url: string): string {
  return url.slice(url.indexOf('//') + 2)
}

function lastOf(header: string | readonly string[] | undefined): string {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  return text.slice(text.lastIndexOf(',') + 1).trim()
}

/** `for=192.0.2.1;proto=https;host="api.example"` */
function readParameters(element: string): ReadonlyMap<string, string> {
  return new Map(
    element.split(';').map((pair) => {
      const [name = '', value = ''] = pair.split('=', 2)
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')] as const
    }),
  )
}
