import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'
import type { ApiSpec } from '../config/spec.js'
import { HOST } from './headers.js'

/** The URL under which the client of a request reaches the service, without a slash at the end; empty where nobody trustworthy says it. */
export type PublicUrl = (request: IncomingMessage) => string

/** From a proxy that the configuration lists, else from the configuration itself. What a client says by `Host` is never believed. */
export function compilePublicUrl({
  publicUrl,
  trustedProxies,
}: Pick<ApiSpec, 'publicUrl' | 'trustedProxies'>): PublicUrl {
  const usual = publicUrl ?? ''
  if (trustedProxies.length === 0) return () => usual
  const trusted = blockList(trustedProxies)
  return ({ socket: { remoteAddress = '' }, headers }) => {
    const family = isIPv6(remoteAddress) ? 'ipv6' : 'ipv4'
    const said = remoteAddress !== '' && trusted.check(remoteAddress, family) ? readForwarded(headers) : ''
    return said === '' ? usual : said
  }
}

function blockList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** What the proxy says of the request that it was sent: of several values, the last is its own. */
function readForwarded(headers: IncomingMessage['headers']): string {
  const { forwarded } = headers
  const said = forwarded === undefined ? undefined : readParameters(lastOf(forwarded))
  const scheme = said ? said.get('proto') : lastOf(headers['x-forwarded-proto'])
  const host = said ? said.get('host') : lastOf(headers['x-forwarded-host'])
  if (scheme === undefined || host === undefined || !/^https?$/i.test(scheme)) return ''
  return host.length <= LONGEST_HOST && HOST.test(host) ? `${scheme.toLowerCase()}://${host}` : ''
}

const LONGEST_HOST = 255

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
