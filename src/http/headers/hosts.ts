import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../../config/host.js'

/** The hosts that a server responds to. */
export interface Hosts {
  admits(request: IncomingMessage): boolean
}

interface HostRules {
  /** Names without a port. `*.example.org` matches every name below `example.org`. Empty for any host. */
  readonly hosts: readonly string[]
  /** The host of this URL is allowed, too. */
  readonly publicUrl?: string | undefined
  /** Whether unknown hosts are rejected on loopback even if no hosts are configured. */
  readonly development: boolean
  /** The host that the server listens on. */
  readonly own: () => string | undefined
}

/**
 * Protects against DNS rebinding: any site can resolve its name to 127.0.0.1 and then reach this server as its own origin, but its requests still
 * carry the name of that site.
 * @returns undefined if every host is allowed
 */
export function compileHosts({ hosts, publicUrl, development, own }: HostRules): Hosts | undefined {
  if (hosts.length === 0 && !development) return undefined
  const isKnown = compileNames(publicUrl === undefined ? hosts : [...hosts, nameIn(publicUrl)])
  return {
    admits({ headers: { host }, socket }) {
      if (host === undefined) return true
      const name = nameOf(host)
      if (isKnown(host) || name === own()) return true
      return isLoopback(socket.localAddress) ? isLocalName(name) : hosts.length === 0
    },
  }
}

/** Returns a function that tests whether a `Host`, with any port, is one of these names. */
export function compileNames(names: readonly string[]): (host: string) => boolean {
  const exact = new Set(names)
  const endings = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1))
  return (host) => {
    const name = nameOf(host)
    return exact.has(name) || endings.some((ending) => name.endsWith(ending))
  }
}

/** Returns a `Host` in lower case, without its port and the trailing dot. */
export function nameOf(host: string): string {
  const port = host.lastIndexOf(':')
  const name = (port > host.lastIndexOf(']') ? host.slice(0, port) : host).toLowerCase()
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** Returns the host of a URL without its port; empty for `null`, the origin of pages that have none. */
export function nameIn(url: string): string {
  return nameOf(url.split('/')[2] ?? '')
}

function isLocalName(name: string): boolean {
  return name === 'localhost' || name === '127.0.0.1' || name === '[::1]' || name.endsWith('.localhost')
}
