import { once } from 'node:events'
import { createServer as createHttpServer, type Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../problem.js'
import { abandon, breakOff, newConnection, refuse, targetOf, toProblem } from './connection.js'
import type { Records } from '../context.js'
import type { Cors } from '../cors.js'
import type { Connection } from './exchange.js'
import { createFallback, type Mount } from './fallback.js'
import { compileForeign } from '../origin-check.js'
import { createHurry } from './slow-clients.js'
import { DEFAULT_LIMITS, type Limits } from './limits.js'
import type { Hosts } from '../hosts.js'
import { createLater } from '../after-commit.js'
import { listen } from './listen.js'
import { createListener, type Listener } from './listener.js'
import type { Log } from '../log.js'
import { createPipeline } from './pipeline.js'
import type { PublicUrl } from '../public-url.js'
import type { RouteTable } from '../route-table.js'
import { createSendBudget, type SendBudget } from './send-budget.js'
import type { Spans } from './spans.js'
import { splitTarget } from './target.js'
import type { Traffic } from './traffic.js'
import { createUses, type Uses } from './usage-count.js'
import { endsWithin } from './ends-within.js'

/** What requests are answered from. */
export interface Served {
  readonly routes: Pick<RouteTable, 'match' | 'rendererAt' | 'reverse'>
  readonly records: Records
  readonly mounts?: readonly Mount[]
  /** For what no route and nothing that is mounted takes. */
  readonly pages?: Pick<RouteTable, 'match'> | undefined
  /** Where scripts of other origins may read answers. */
  readonly cors?: Cors | undefined
  /** The hosts that are answered for; undefined for any. */
  readonly hosts?: Hosts | undefined
  readonly publicUrl?: PublicUrl | undefined
  /** Is told that a table seems to be another than its model's. */
  readonly onMismatch?: () => void
}

/** What a service is served from. */
export interface ServerParts extends Served {
  readonly log: Log
  readonly limits?: Partial<Limits>
  /** Where requests are counted, if anybody wants to know. */
  readonly traffic?: Traffic | undefined
  /** Where requests are traced, if anybody has set that up. */
  readonly spans?: Spans | undefined
  /** What its lists wait for, when it is shared with them. */
  readonly budget?: SendBudget
}

export interface HttpServer {
  readonly server: Server
  /** Serves under another server, such as an Express application; `next` takes what nothing here answers. */
  readonly handler: Listener
  /**
   * Answers from something else the requests that come from now on; those under way end as they began. Not those of `handler`.
   * Resolves when the last of those under way has ended, with its handler, its stream and what follows its commits.
   */
  replace(served: Served): Promise<void>
  /**
   * Resolves when connections are accepted.
   * @throws what Node says when the address cannot be had, `EADDRINUSE` for example
   */
  listen(address: { readonly port: number; readonly host: string }): Promise<{ readonly url: string }>
  /**
   * Accepts no more connections and answers what is under way. Resolves when the last connection is closed, and every handler, stream and what
   * follows commits has ended, or after `drainTimeout`.
   */
  drain(): Promise<void>
}

const HEAD_BYTES = 16 * 1024
/** Milliseconds that a client has, while the server drains, to send what it was about to send; then quiet connections are closed. */
const QUIET_CHECK = 100
/** Milliseconds for what goes on after the last answers, when these took all the time of the drain. */
const LATER_AT_LEAST = 1_000
const CLIENT_ERROR_LOG = 60_000

/** The HTTP front of a service. Nothing is opened before `listen`. */
export function createServer(parts: ServerParts): HttpServer {
  const { log, traffic, spans } = parts
  const limits: Limits = { ...DEFAULT_LIMITS, ...parts.limits }
  const connections = new WeakMap<Socket, Connection>()
  const sockets = new Set<Socket>()
  const budget = parts.budget ?? createSendBudget(limits)
  const pipeline = createPipeline(limits)
  let draining: Promise<void> | undefined
  const server = createHttpServer(serverOptions(limits))
  const later = createLater(log, limits.handlerTimeout)
  const listenerOf = (
    { routes, records, mounts = [], pages, cors, hosts, publicUrl, onMismatch }: Served,
    uses: Uses,
  ) => {
    const findForeign = compileForeign({ hosts, cors, publicUrl })
    return createListener({
      uses,
      routes,
      records,
      later,
      fallback: mounts.length > 0 ? createFallback(mounts, findForeign) : undefined,
      pages,
      log,
      limits,
      cors,
      findForeign,
      publicUrl,
      traffic,
      spans,
      onMismatch,
      draining: () => draining !== undefined,
      budget,
      pipeline,
      connectionOf: (socket) => connections.get(socket),
    })
  }
  let uses = createUses()
  const replaced = new Set<Promise<void>>()
  const listener = listenerOf(parts, uses)
  let { routes } = parts
  let detach = attach(server, listener)
  server.maxConnections = limits.connections
  // One above the limit, so that a request with too many is seen to have them.
  server.maxHeadersCount = limits.headers + 1
  server.timeout = limits.idleTimeout
  // A client that has ended its side, as `nc -N` does, still reads the answers. Node has the property, and its types do not.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (socket) => {
    const connection = newConnection()
    connections.set(socket, connection)
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      abandon(connection)
      pipeline.proceed(connection, socket)
    })
  })
  budget.onPressure(createHurry(sockets, (socket) => connections.get(socket)?.unread, limits))
  refuseGarbage(server, { rendererAt: (path) => routes.rendererAt(path), connections, limits, log })

  const drainAll = async () => {
    const begun = performance.now()
    await drain(server, sockets, limits)
    const timeLeft = Math.max(limits.drainTimeout - (performance.now() - begun), LATER_AT_LEAST)
    await endsWithin(Promise.all([uses.ended(), ...replaced]), timeLeft)
  }

  return {
    server,
    handler: listener.receive,
    replace: (served) => {
      const ended = uses.ended().finally(() => replaced.delete(ended))
      replaced.add(ended)
      uses = createUses()
      detach()
      detach = attach(server, listenerOf(served, uses))
      routes = served.routes
      return ended
    },
    listen: (address) => listen(server, address, log),
    drain: () => (draining ??= drainAll()),
  }
}

/** Has a server's requests answered by a listener, without anything in between; and undoes that. */
function attach(server: Server, { receive, receiveExpecting }: ReturnType<typeof createListener>): () => void {
  const listeners = [
    ['request', receive],
    ['checkContinue', receiveExpecting],
    ['checkExpectation', receiveExpecting],
  ] as const
  for (const [event, listener] of listeners) server.on(event, listener)
  return () => {
    for (const [event, listener] of listeners) server.off(event, listener)
  }
}

function serverOptions({ headersTimeout, requestTimeout, keepAliveTimeout }: Limits) {
  return {
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(1000, requestTimeout / 4),
    maxHeaderSize: HEAD_BYTES,
    insecureHTTPParser: false,
    // Node would answer without our headers.
    requireHostHeader: false,
  }
}

/** What Node says of bytes that it cannot parse; a timeout has none. */
interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

interface RefusalParts extends Pick<ServerParts, 'log'> {
  readonly rendererAt: RouteTable['rendererAt']
  readonly connections: WeakMap<Socket, Connection>
  readonly limits: Limits
}

/** Answers what Node cannot parse, and says so in the log at most once a minute. */
function refuseGarbage(server: Server, { rendererAt, connections, limits, log }: RefusalParts): void {
  let unlogged = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const report = (code: string | undefined) => {
    unlogged += 1
    if (performance.now() - loggedAt < CLIENT_ERROR_LOG) return
    log.info({ event: 'client_error', code, count: unlogged })
    loggedAt = performance.now()
    unlogged = 0
  }
  server.on('clientError', (error: ClientError, socket: Socket) => {
    report(error.code)
    const connection = connections.get(socket)
    if (!connection || !socket.writable) {
      socket.destroy()
      return
    }
    const target = targetOf(connection, error.rawPacket)
    const render = target === undefined ? undefined : rendererAt(splitTarget(target).path)
    breakOff(connection, socket, { problem: toProblem(error.code), render }, limits)
  })
  server.on('connect', (_request, socket) => {
    const problem = new Problem('malformed_request', 'this server is not a proxy')
    refuse(socket, { problem, render: undefined }, limits)
  })
}

async function drain(server: Server, sockets: ReadonlySet<Socket>, { drainTimeout }: Limits): Promise<void> {
  if (!server.listening) return
  // The turn before it ends with reading, so that what has arrived by then is no quiet connection's.
  const quiet = setInterval(() => setImmediate(() => closeQuiet(server, sockets)), QUIET_CHECK)
  const cut = setTimeout(() => server.closeAllConnections(), drainTimeout)
  const closed = once(server, 'close')
  // An HTTP server would also close idle connections at once, whose next request may be on its way.
  NetServer.prototype.close.call(server)
  await closed
  // Node closes the last sockets in the same turn but later, and what was cut is logged then.
  await delay(0)
  clearInterval(quiet)
  clearTimeout(cut)
  // Ends its checks for slow clients.
  server.close()
}

/** Closes connections on which no request is under way, not even the first bytes of one. */
function closeQuiet(server: Server, sockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections()
  // Node takes a connection that has sent nothing for one in the middle of a request.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}
