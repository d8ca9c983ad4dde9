import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Log } from '../log.js'

/** Where a server at an address is asked: `http://127.0.0.1:8000`, and `http://[::1]:8000` of an address of IPv6. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Listens on an address; port 0 is any free one.
 * @throws what Node says when the address cannot be had, `EADDRINUSE` for example
 */
export async function listen(
  server: Server,
  { port, host }: { readonly port: number; readonly host: string },
  log: Log,
): Promise<{ readonly url: string }> {
  server.listen(port, host)
  await once(server, 'listening')
  // Accepting a connection can fail, for want of file descriptors for example; the connections that are there go on.
  server.on('error', (cause) => log.error({ event: 'accept_failed', cause }))
  // Not a pipe or a socket file, so it has a port.
  const { port: actual } = server.address() as AddressInfo
  return { url: urlOf({ host, port: actual }) }
}
