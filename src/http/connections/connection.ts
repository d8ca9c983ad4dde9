import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Problem, type ProblemType } from '../../foundation/problem.js'
import { type Connection, endConnection, type Exchange, type Rejection } from '../server/exchange.js'
import { toJsonText } from '../../fields/spelling/exact-json.js'
import type { Limits } from './limits.js'
import { UNSUPPORTED_VERSION } from '../server/replies/headers.js'
import { toReply } from '../server/replies/problem-document.js'
import { headersOf } from '../server/replies/reply.js'
import type { Reply } from '../route.js'

/** Problems by Node's error code; any other code means that the bytes are not HTTP. */
const FAILURES: Readonly<Record<string, readonly [ProblemType, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'the head of the request is too large'],
  HPE_INVALID_URL: [
    'malformed_request',
    'the address of the request must be a path that starts with `/`, or a URL, in visible ASCII, where `é` is written %C3%A9',
  ],
  HPE_INVALID_VERSION: UNSUPPORTED_VERSION,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['body_too_large', 'the chunk extensions of the body are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
}

export function newConnection(): Connection {
  return {
    underWay: [],
    waiting: [],
    paused: false,
    isKeptPaused: false,
    unread: 0,
    count: 0,
    latest: undefined,
    closing: false,
    rejection: undefined,
    broken: undefined,
  }
}

/**
 * Counts a request. The last request that a connection may have closes it; later ones on the connection are ignored, and the client knows from
 * `Connection: close` to send them again. Node would respond with 503 instead. A request to upgrade is the last one, because Node skips the rest of
 * the packet in which it ends, and takes the next packet for the beginning of a request.
 */
export function enter(connection: Connection, exchange: Exchange, { requestsPerConnection }: Limits): void {
  connection.underWay.push(exchange)
  connection.count += 1
  connection.latest = exchange
  if (connection.count < requestsPerConnection && !asksToUpgrade(exchange.request)) return
  exchange.mustClose = true
  endConnection(connection)
}

function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && headers.connection?.toLowerCase().includes('upgrade') === true
}

/** What Node's parser reports for bytes that it could not parse. */
interface Failure {
  readonly code?: string | undefined
  readonly reason?: string
}

/** The reason of HPE_INVALID_VERSION if the version is known, but followed by something else, such as LF alone. */
const AFTER_VERSION = 'Expected CRLF after version'

/** The problem for bytes that Node could not parse. */
export function toProblem({ code, reason }: Failure): Problem {
  const known = reason === AFTER_VERSION ? undefined : FAILURES[code ?? '']
  const [type, detail] = known ?? ['malformed_request', 'the request is not valid HTTP/1.1']
  return new Problem(type, detail)
}

const REQUEST_LINE = /^[A-Z]{1,20} (\S{1,16384})/

/**
 * The target of bytes that Node could not parse. They are one packet of many, so the target is known only if they begin with a request line, and not
 * if requests are in progress, whose bodies may look like one.
 */
export function targetOf(connection: Connection, packet: Buffer | undefined): string | undefined {
  if (connection.underWay.length > 0) return undefined
  return REQUEST_LINE.exec(packet?.toString('latin1') ?? '')?.[1]
}

/** Closes a connection that cannot be parsed any further, after the responses in progress. */
export function breakOff(connection: Connection, socket: Duplex, rejection: Rejection, limits: Limits): void {
  const { latest, closing } = connection
  const open = connection.underWay.length
  // The parser reports an error for every later packet.
  if (connection.rejection || connection.broken || (closing && open === 0)) return
  connection.closing = true
  if (connection.waiting.length > 0) {
    connection.broken = rejection
    return
  }
  if (open > 0 && latest && !latest.request.complete) {
    latest.mustClose = true
    latest.failBody?.(rejection.problem)
    if (latest.response.headersSent) latest.response.on('finish', () => socket.destroy())
    return
  }
  connection.rejection = rejection
  if (open === 0) reject(socket, rejection, limits)
}

/** Removes a finished request. */
export function release(connection: Connection, exchange: Exchange): void {
  connection.unread -= exchange.unread
  connection.underWay.splice(connection.underWay.indexOf(exchange), 1)
}

/** Sends the final error of a broken connection once all earlier requests are answered. */
export function settle({ underWay, rejection }: Connection, socket: Duplex, limits: Limits): void {
  if (rejection && underWay.length === 0) reject(socket, rejection, limits)
}

/** Aborts the requests of a closed connection. */
export function abandon({ underWay }: Connection): void {
  for (const { response } of [...underWay]) abort(response)
}

/** Closes a response whose connection is closed. Node does that only for the one that it is sending, not for those that wait for it. */
function abort(response: ServerResponse): void {
  if (response.socket) return
  response.destroy()
  response.emit('close')
}

/** Returns a function that has responses aborted when their connection closes, if it belongs to another server. */
export function abortOnClose(): (response: ServerResponse, socket: Duplex) => void {
  const open = new WeakMap<Duplex, Set<ServerResponse>>()
  return (response, socket) => {
    const responses = open.get(socket) ?? new Set()
    // A server without connections of its own, as those of functions in a cloud, may have no more than an address.
    if (!open.has(socket)) (socket as Partial<Duplex>).once?.('close', () => [...responses].forEach(abort))
    open.set(socket, responses.add(response))
    response.once('close', () => responses.delete(response))
  }
}

/** Writes a response directly to the socket, because there is no request object. */
export function reject(socket: Duplex, rejection: Rejection, { lingerTimeout }: Limits): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const requestId = randomUUID()
  const { reply, body } = replyTo(rejection, requestId)
  const headers = headersOf(requestId, reply, Buffer.byteLength(body), true)
  const lines = [`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}`, `Date: ${new Date().toUTCString()}`]
  for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`)
  const timer = setTimeout(() => socket.destroy(), lingerTimeout)
  socket.once('close', () => clearTimeout(timer))
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

function replyTo({ problem, render }: Rejection, requestId: string): { readonly reply: Reply; readonly body: string } {
  try {
    const reply = toReply(problem, requestId, render)
    return { reply, body: toJsonText(reply.body) }
  } catch {
    // The renderer is a plugin's; its errors are reported on regular requests.
    return replyTo({ problem, render: undefined }, requestId)
  }
}
