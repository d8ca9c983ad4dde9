import { once } from 'node:events'
import { createServer as createHttpServer, type Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../foundation/problem.js'
import { abandon, breakOff, newConnection, reject, targetOf, toProblem } from '../connections/connection.js'
import type { Records } from '../records.js'
import type { Cors } from '../headers/cors.js'
import { type Connection, holdsBody } from './exchange.js'
import { createFallback, type Mount } from './fallback.js'
import { compileOriginCheck } from '../headers/origin-check.js'
import { createSlowClientCheck } from '../connections/slow-clients.js'
import { DEFAULT_LIMITS, type Limits } from '../connections/limits.js'
import type { Hosts } from '../headers/hosts.js'
import { createAfterCommit } from '../registrations/after-commit.js'
import { listen } from './listen.js'
import { createListener, type Listener } from './listener.js'
import type { ServedAccess } from './served-access.js'
import type { Log } from '../log.js'
import { createPipeline } from '../connections/pipeline.js'
import type { PublicUrl } from '../headers/public-url.js'
import type { RouteTable } from '../route-table.js'
import { createLargeReads, type LargeReads } from '../connections/large-reads.js'
import { createReceiveBudget } from '../connections/receive-budget.js'
import { createSendBudget, type SendBudget } from '../connections/send-budget.js'
import type { Spans } from './spans.js'
import { splitTarget } from './target.js'
import type { Traffic } from '../connections/traffic.js'
import { createUses, type Uses } from './usage-count.js'
import { endsWithin } from '../connections/ends-within.js'

/** The application and the records that requests are answered from. */
export interface Served {
  readonly routes: Pick<RouteTable, 'match' | 'rendererAt' | 'reverse'>
  readonly records: Records
  /** Undefined without `auth`. */
  readonly access?: ServedAccess | undefined
  readonly mounts?: readonly Mount[]
  /** Used for requests that neither a route nor a mount takes. */
  readonly pages?: Pick<RouteTable, 'match'> | undefined
  /** Where scripts of other origins may read responses. */
  readonly cors?: Cors | undefined
  /** The allowed hosts; undefined for any. */
  readonly hosts?: Hosts | undefined
  readonly publicUrl?: PublicUrl | undefined
  /** Whether successful responses are compressed. */
  readonly compression?: boolean
  /** Called when a table differs from its model, or (not `sure`) may have been altered. */
  readonly onMismatch?: (sure: boolean) => void
}

/** The dependencies of a server. */
export interface ServerParts extends Served {
  readonly log: Log
  readonly limits?: Partial<Limits>
  /** Counts requests, if metrics are on. */
  readonly traffic?: Traffic | undefined
  /** Traces requests, if tracing is on. */
  readonly spans?: Spans | undefined
  /** The send budget, if it is shared with the lists. */
  readonly budget?: SendBudget
  /** The order of large lists, likewise. */
  readonly largeReads?: LargeReads
}

export interface HttpServer {
  readonly server: Server
  /** Serves within another server, such as an Express application. `next` takes requests that nothing here answers. */
  readonly handler: Listener
  /**
   * Answers new requests from another application; requests in progress continue with the old one. Does not apply to `handler`. Resolves when the
   * last request in progress has ended, with its handler, stream and after-commit tasks.
   */
  replace(served: Served): Promise<void>
  /**
   * Resolves when connections are accepted.
   * @throws Node's error if that fails, such as `EADDRINUSE`
   */
  listen(address: { readonly port: number; readonly host: string }): Promise<{ readonly url: string }>
  /**
   * Stops accepting connections and finishes the requests in progress. Resolves when the last connection is closed and every handler, stream and
   * after-commit task has ended, or after `drainTimeout`.
   */
  drain(): Promise<void>
}

const HEAD_BYTES = 16 * 1024
/** While draining, connections without a request are closed at this interval, in ms, so that clients can finish sending. */
const QUIET_CHECK = 100
/** The minimum time in ms for after-commit tasks if the last responses took all of the drain. */
const LATER_AT_LEAST = 1_000
const CLIENT_ERROR_LOG = 60_000

/** Creates the HTTP server of a service. It opens nothing before `listen`. */
export function createServer(parts: ServerParts): HttpServer {
  const { log, traffic, spans } = parts
  const limits: Limits = { ...DEFAULT_LIMITS, ...parts.limits }
  const connections = new WeakMap<Socket, Connection>()
  const sockets = new Set<Socket>()
  const bodies = createReceiveBudget(limits)
  const budget = parts.budget ?? createSendBudget(limits)
  const largeReads = parts.largeReads ?? createLargeReads()
  const pipeline = createPipeline(limits)
  let draining: Promise<void> | undefined
  const server = createHttpServer(serverOptions(limits))
  const later = createAfterCommit(log, limits.handlerTimeout)
  const listenerOf = (
    { routes, records, access, mounts = [], pages, cors, hosts, publicUrl, compression, onMismatch }: Served,
    uses: Uses,
  ) => {
    const checkOrigin = compileOriginCheck({ hosts, cors, publicUrl })
    return createListener({
      uses,
      routes,
      records,
      access,
      later,
      fallback: mounts.length > 0 ? createFallback(mounts, checkOrigin) : undefined,
      pages,
      log,
      limits,
      cors,
      checkOrigin,
      publicUrl,
      compression,
      traffic,
      spans,
      onMismatch,
      draining: () => draining !== undefined,
      bodies,
      budget,
      largeReads,
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
  // One more than the limit, so that requests with too many are detected.
  server.maxHeadersCount = limits.headers + 1
  server.timeout = limits.idleTimeout
  // A client that has closed its sending side, such as `nc -N`, still reads responses. Node has the property, but its types do not.
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
  const unreadOf = (socket: Socket) => connections.get(socket)?.unread
  budget.onPressure(createSlowClientCheck(() => sockets, unreadOf, limits))
  const withBody = () => [...sockets].filter((socket) => holdsBody(connections.get(socket)))
  bodies.onPressure(createSlowClientCheck(withBody, unreadOf, limits))
  rejectGarbage(server, { rendererAt: (path) => routes.rendererAt(path), connections, limits, log })

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

/** Attaches a listener directly to a server's events; returns a function that detaches it. */
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
    // Node would respond without our headers.
    requireHostHeader: false,
  }
}

/** Node's error for bytes that it cannot parse; a timeout has no bytes. */
interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
  readonly reason?: string
}

interface RejectionParts extends Pick<ServerParts, 'log'> {
  readonly rendererAt: RouteTable['rendererAt']
  readonly connections: WeakMap<Socket, Connection>
  readonly limits: Limits
}

/** Responds to bytes that Node cannot parse, and logs that at most once a minute. */
function rejectGarbage(server: Server, { rendererAt, connections, limits, log }: RejectionParts): void {
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
    const connection = connections.get(socket)
    // The client has sent the rest in time: it is this server that does not read, while earlier requests of the connection run.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection?.paused) return
    report(error.code)
    if (!connection || !socket.writable) {
      socket.destroy()
      return
    }
    const target = targetOf(connection, error.rawPacket)
    const render = target === undefined ? undefined : rendererAt(splitTarget(target).path)
    breakOff(connection, socket, { problem: toProblem(error), render }, limits)
  })
  server.on('connect', (_request, socket: Socket) => {
    // Node has removed its own listener. Without one, a reset would end the process.
    socket.on('error', () => socket.destroy())
    const rejection = { problem: new Problem('malformed_request', 'this server is not a proxy'), render: undefined }
    const connection = connections.get(socket)
    if (connection) breakOff(connection, socket, rejection, limits)
    else reject(socket, rejection, limits)
  })
}

async function drain(server: Server, sockets: ReadonlySet<Socket>, { drainTimeout }: Limits): Promise<void> {
  if (!server.listening) return
  // Input is read before immediates run, so a connection whose data has arrived is not quiet.
  const quiet = setInterval(() => setImmediate(() => closeQuiet(server, sockets)), QUIET_CHECK)
  const cut = setTimeout(() => server.closeAllConnections(), drainTimeout)
  const closed = once(server, 'close')
  // An HTTP server would also close idle connections at once, although their next request may be on its way.
  NetServer.prototype.close.call(server)
  await closed
  // Node closes the last sockets later in the same turn, and their aborted requests are logged then.
  await delay(0)
  clearInterval(quiet)
  clearTimeout(cut)
  // Stops Node's checks for slow clients.
  server.close()
}

/** Closes connections without a request, not even a partial one. */
function closeQuiet(server: Server, sockets: ReadonlySet<Socket>): void {
  // Node treats a connection that has sent nothing as if it were in the middle of a request.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  // It treats one whose client still reads a response as if it were idle. Until then, `keepAliveTimeout` closes the others.
  if (![...sockets].some(({ writableLength }) => writableLength > 0)) server.closeIdleConnections()
}
