import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** When in the life of one statement its connection is broken. */
export type Moment = 'during send' | 'before reply' | 'during reply'

/** How: as a crash, in order, by swallowing everything from then on, or by letting everything through late. */
export type Way = 'reset' | 'end' | 'blackhole' | 'delay'

/** Stands between the service and PostgreSQL. */
export interface Proxy {
  readonly port: number
  /** The next message to the server that holds this text meets the fault. */
  arm(marker: string, moment: Moment, way: Way): void
  /** Breaks all open connections. */
  breakAll(way: Way): void
  /** Starts or stops rejecting new connections. */
  refuse(refusing: boolean): void
  retarget(port: number): void
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Nothing goes through any more. */
  silent: boolean
  /** Handles the next bytes from the server. */
  onReply: ((piece: Buffer) => void) | undefined
}

const LATE = 300

const BREAKS: Readonly<Record<Way, (link: Link) => void>> = {
  reset: ({ client, server }) => {
    client.resetAndDestroy()
    server.resetAndDestroy()
  },
  end: ({ client, server }) => {
    client.end()
    server.end()
  },
  blackhole: (link) => {
    link.silent = true
  },
  delay: () => undefined,
}

/** What each moment does with the message that contains the marker. */
const MOMENTS: Readonly<Record<Moment, (link: Link, piece: Buffer, way: Way) => void>> = {
  'during send': (link, piece, way) => {
    link.server.write(piece.subarray(0, piece.length >> 1))
    setTimeout(() => BREAKS[way](link), 5)
  },
  'before reply': (link, piece, way) => {
    link.server.write(piece)
    link.onReply = () => BREAKS[way](link)
  },
  'during reply': (link, piece, way) => {
    link.server.write(piece)
    link.onReply = (reply) => {
      link.client.write(reply.subarray(0, reply.length >> 1))
      setTimeout(() => BREAKS[way](link), 5)
    }
  },
}

/**
 * Starts a proxy in this process.
 * @param target a port of this machine, or the path of a socket
 */
export async function startProxy(target: number | string): Promise<Proxy> {
  const links = new Set<Link>()
  const armed = new Map<string, { readonly moment: Moment; readonly way: Way }>()
  let to = target
  let refusing = false

  const fromClient = (link: Link, piece: Buffer) => {
    if (link.silent) return
    const text = piece.toString('latin1')
    const marker = [...armed.keys()].find((key) => text.includes(key))
    const fault = marker === undefined ? undefined : armed.get(marker)
    if (marker === undefined || fault === undefined) return void link.server.write(piece)
    armed.delete(marker)
    if (fault.way === 'delay') setTimeout(() => link.server.write(piece), LATE)
    else MOMENTS[fault.moment](link, piece, fault.way)
  }
  const fromServer = (link: Link, piece: Buffer) => {
    if (link.silent) return
    if (link.onReply === undefined) return void link.client.write(piece)
    const { onReply } = link
    link.onReply = () => undefined
    onReply(piece)
  }

  const listener = createServer({ noDelay: true }, (client) => {
    if (refusing) return void client.resetAndDestroy()
    const server = connect({
      ...(typeof to === 'string' ? { path: to } : { host: '127.0.0.1', port: to }),
      noDelay: true,
    })
    const link: Link = { client, server, silent: false, onReply: undefined }
    links.add(link)
    client.on('data', (piece: Buffer) => fromClient(link, piece))
    server.on('data', (piece: Buffer) => fromServer(link, piece))
    const pairs = [
      [client, server],
      [server, client],
    ] as const
    for (const [one, other] of pairs) {
      one.on('error', () => undefined)
      one.on('close', () => {
        // A side that was cut off does not learn of the other's end.
        if (link.silent) return
        links.delete(link)
        other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port: (listener.address() as AddressInfo).port,
    arm: (marker, moment, way) => void armed.set(marker, { moment, way }),
    breakAll: (way) => links.forEach((link) => BREAKS[way](link)),
    refuse: (value) => {
      refusing = value
    },
    retarget: (port) => {
      to = port
    },
    close: async () => {
      for (const { client, server } of links) {
        client.destroy()
        server.destroy()
      }
      listener.close()
      await once(listener, 'close')
    },
  }
}
