import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import type { Cors } from '../../headers/cors.js'
import type { Exchange } from '../exchange.js'
import { endConnection, isSettled } from '../exchange.js'
import { valueOf } from '../../headers/reply-headers.js'
import { SECURITY_HEADERS, setHeader } from './headers.js'
import { toJsonText } from '../../../fields/spelling/exact-json.js'
import type { Limits } from '../../connections/limits.js'
import type { Reply } from '../../route.js'
import type { LargeReads } from '../../connections/large-reads.js'
import type { SendBudget } from '../../connections/send-budget.js'

/** Headers that delimit responses; a handler that sets them could desynchronise the connection. */
const OURS = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding', 'x-request-id'])
const BODYLESS = new Set([204, 304])
/**
 * The texts of a stream, other than events, are joined to chunks of this many characters. A stream that fails before the first chunk gets a proper
 * error response.
 */
const CHUNK = 16 * 1024

/** A response as the server writes it. */
export interface WrittenReply extends Omit<Reply, 'stream'> {
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** The length of a compressed text before, in bytes. */
  readonly uncodedLength?: number
}

/** The state of the server when a response is written. */
export interface Situation {
  readonly limits: Limits
  readonly draining: () => boolean
  readonly budget: SendBudget
  readonly largeReads: LargeReads
  /** Where scripts of other origins may read responses. */
  readonly cors?: Cors | undefined
  /** With `auth`, the headers by which callers sign in. */
  readonly access?: { readonly vary: string } | undefined
}

/**
 * Writes a response. For a stream, the promise resolves at its end.
 * @throws TypeError or RangeError for an invalid response; then nothing was sent. If the promise is rejected, check `isSettled`
 */
export function sendReply(exchange: Exchange, reply: WrittenReply, situation: Situation): Promise<void> | undefined {
  if (!Number.isInteger(reply.status) || reply.status < 200 || reply.status > 599) {
    throw new RangeError(`a handler returned the status ${reply.status}; it must be between 200 and 599`)
  }
  if (reply.stream !== undefined) return sendStream(exchange, reply, reply.stream, situation)
  sendText(exchange, reply, textOf(reply), situation)
  return undefined
}

/** Returns the headers of a response as a flat list. `length` is the length of the body; undefined if it is unknown or there is none. */
export function headersOf(
  requestId: string,
  reply: WrittenReply,
  length: number | undefined,
  close: boolean,
): string[] {
  const headers = [...SECURITY_HEADERS, 'X-Request-Id', requestId]
  if (length !== undefined || reply.stream !== undefined) headers.push('Content-Type', 'application/json')
  if (length !== undefined) headers.push('Content-Length', String(length))
  if (close) headers.push('Connection', 'close')
  if (reply.headers === undefined) return headers
  for (const name of Object.keys(reply.headers)) {
    const value = reply.headers[name] as string
    if (OURS.has(name.toLowerCase())) throw new TypeError(`a handler set the header ${name}, which the server sets`)
    setHeader(headers, name, value)
  }
  return headers
}

/** Returns the body of a response that is not a stream. */
export function textOf(reply: Omit<Reply, 'stream'>): string | Uint8Array | undefined {
  const text = reply.text ?? ('body' in reply ? toJsonText(reply.body) : undefined)
  if (text !== undefined && BODYLESS.has(reply.status)) {
    throw new TypeError(`a handler returned the status ${reply.status} and a body, which that status cannot have`)
  }
  return text
}

function sendText(
  exchange: Exchange,
  reply: WrittenReply,
  text: string | Uint8Array | undefined,
  situation: Situation,
): void {
  const { request, response } = exchange
  const length = text === undefined ? undefined : Buffer.byteLength(text)
  const close = writeHead(exchange, reply, length, situation)
  if (length !== undefined) holdUntilRead(exchange, length, situation.budget)
  if (reply.status < 400) situation.largeReads.answered(reply.uncodedLength ?? length ?? 0)
  if (close && !request.complete) linger(exchange, situation.limits)
  response.end(text)
}

function holdUntilRead(exchange: Exchange, length: number, budget: SendBudget): void {
  exchange.unread = length
  budget.hold(length)
  if (exchange.connection) exchange.connection.unread += length
}

/** Appends to the handler's `Vary`; replaces its CORS headers. */
function allowOrigin(headers: string[], given: readonly string[]): void {
  for (let index = 0; index < given.length; index += 2) {
    const [name = '', value = ''] = given.slice(index, index + 2)
    if (name === 'Vary') headers.push(name, value)
    else setHeader(headers, name, value)
  }
}

/** Returns whether the connection closes after this response. */
function writeHead(exchange: Exchange, reply: WrittenReply, length: number | undefined, situation: Situation): boolean {
  const { request, requestId, response, connection } = exchange
  const close = endsConnection(exchange, situation)
  const headers = headersOf(requestId, reply, length, close)
  if (situation.access) headers.push('Vary', situation.access.vary)
  if (situation.cors) allowOrigin(headers, situation.cors.headersFor(request))
  if (length === undefined && reply.stream === undefined && !BODYLESS.has(reply.status))
    headers.push('Content-Length', '0')
  // Node sets the header only for GET, because a response to HEAD has no chunks.
  if (reply.stream !== undefined && request.method === 'HEAD' && request.httpVersion !== '1.0')
    headers.push('Transfer-Encoding', 'chunked')
  // After a response with invalid headers, Node would keep its reason phrase.
  response.statusMessage = ''
  response.writeHead(reply.status, headers)
  if (close && connection) endConnection(connection)
  return close
}

function endsConnection(exchange: Exchange, { limits, draining }: Situation): boolean {
  const { request, connection } = exchange
  if (exchange.mustClose || exchange.awaitsContinue) return true
  // While draining, requests already received on the connection are still answered.
  if (draining()) return connection === undefined || connection.underWay.length + connection.waiting.length <= 1
  return !request.complete && mayBeLong(request, limits)
}

/** The rest of a body may have any length if the request does not say how long it is. */
function mayBeLong({ headers }: IncomingMessage, { lingerBytes }: Limits): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > lingerBytes
}

/**
 * Closing a connection with unread bytes resets it, and the reset may overtake the response; so some of them are read before Node closes it, which it
 * does by `destroySoon`. A client that waits for `100 Continue` may send the body all the same.
 */
function linger({ request }: Exchange, { lingerBytes, lingerTimeout }: Limits): void {
  const { socket } = request
  const close = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    if (request.readableEnded) return close()
    const timer = setTimeout(close, lingerTimeout)
    socket.on('close', () => clearTimeout(timer))
    request.on('end', close)
  }
  let left = lingerBytes
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
  request.resume()
}

async function sendStream(
  exchange: Exchange,
  reply: WrittenReply,
  stream: AsyncIterable<unknown>,
  situation: Situation,
): Promise<void> {
  const { request, response } = exchange
  let begun = false
  let gathered = ''
  const write = async (piece: string | Uint8Array) => {
    if (!begun) {
      writeHead(exchange, reply, undefined, situation)
      // The stream may last for hours, and has no part of the body any more.
      exchange.body?.release()
    }
    begun = true
    if (piece.length > 0 && request.method !== 'HEAD' && !response.write(piece)) await drained(exchange)
  }
  const flush = async () => {
    const text = gathered
    gathered = ''
    await write(text)
  }
  const enough = isOfEvents(reply) ? 1 : CHUNK
  // Leaving the loop ends the stream.
  for await (const piece of stream) {
    if (response.destroyed || (!begun && isSettled(exchange))) return
    if (typeof piece === 'string') gathered += piece
    else if (!(piece instanceof Uint8Array))
      throw new TypeError(`a stream yields text or bytes, not ${inspect(piece, { depth: 0 })}`)
    if (gathered.length >= enough || typeof piece !== 'string') await flush()
    if (typeof piece !== 'string') await write(piece)
    if (begun && request.method === 'HEAD') break
  }
  if (response.destroyed || (!begun && isSettled(exchange))) return
  await flush()
  response.end()
}

/** Each event must arrive when it happens. */
function isOfEvents({ headers = {} }: WrittenReply): boolean {
  return /^text\/event-stream\b/i.test(valueOf(headers, 'content-type') ?? '')
}

/** Ends a response that has begun, so that its client sees that it is incomplete: a missing last chunk, or, in HTTP/1.0, a reset connection. */
export function cutOff({ request, response }: Exchange): void {
  const { socket } = response
  // A router behind TLS shows it by the missing end of TLS.
  if (request.httpVersion === '1.0' && socket && !('encrypted' in socket)) socket.resetAndDestroy()
  response.destroy()
}

async function drained({ response }: Exchange): Promise<void> {
  if (response.destroyed) return
  const over = new AbortController()
  await Promise.race([once(response, 'drain', over), once(response, 'close', over)]).finally(() => over.abort())
}
