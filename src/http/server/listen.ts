import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Log } from '../log.js'

/** The URL of a server: `http://127.0.0.1:8000`, or `http://[::1]:8000` for an IPv6 address. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Listens on an address; port 0 means any free port.
 * @throws Node's error if that fails, such as `EADDRINUSE`
 */
export async function listen(
  server: Server,
  { port, host }: { readonly port: number; readonly host: string },
  log: Log,
): Promise<{ readonly url: string }> {
  server.listen(port, host)
  await once(server, 'listening')
  // Accepting a connection may fail, for example without file descriptors; open connections continue.
  server.on('error', (cause) => log.error({ event: 'accept_failed', cause }))
  // Always a TCP address, so it has a port.
  const { port: actual } = server.address() as AddressInfo
  return { url: urlOf({ host, port: actual }) }
}
