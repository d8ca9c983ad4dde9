import { type JsonBody, readJsonBody } from '../../foundation/json-body.js'
import { Problem } from '../../foundation/problem.js'
import type { ReceiveBudget } from '../connections/receive-budget.js'
import { type Exchange, returnRoom } from './exchange.js'
import { countHeader } from './replies/headers.js'
import type { BodyPolicy } from '../route.js'

const MEDIA_TYPE =
  /^([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*charset=(?:utf-?8|"utf-?8"))?;?$/

/**
 * Checks the head of a request against `policy`, then reads its body as a JSON object, or an array of objects where accepted. The body takes room of
 * `bodies` until it is processed.
 * @throws Problem `body_too_large`, `unsupported_media_type`, `malformed_request`, `malformed_body` or `unavailable`, or the problem of a connection that fails meanwhile
 */
export async function readBody(exchange: Exchange, policy: BodyPolicy, bodies: ReceiveBudget): Promise<JsonBody> {
  const { request } = exchange
  if (Number(request.headers['content-length'] ?? 0) > policy.limit) {
    exchange.mustClose = true
    throw tooLarge(policy)
  }
  if (policy.blank && isBodyless(exchange)) return NOTHING
  requireReadable(exchange, policy)
  const bytes = await readBytes(exchange, policy, bodies)
  return policy.blank && bytes.length === 0 ? NOTHING : readJsonBody(bytes, policy.items, policy.within)
}

const NO_BYTES = new Uint8Array()
const NOTHING = readJsonBody(Buffer.from('{}'))

/** The response header that lists the accepted media types of a method; `Accept` for others. */
const ADVERTISED: Readonly<Record<string, string>> = { PATCH: 'Accept-Patch', POST: 'Accept-Post' }

function requireReadable({ request }: Exchange, { mediaTypes, optional }: BodyPolicy): void {
  const { headers, rawHeaders, method = '' } = request
  const unsupported = (detail: string) =>
    new Problem('unsupported_media_type', detail, {
      headers: { [ADVERTISED[method] ?? 'Accept']: mediaTypes.join(', ') },
    })
  // RFC 9110, 14.5: a server that replaced the whole record with a part of it would lose the rest.
  if (method === 'PUT' && headers['content-range'] !== undefined)
    throw new Problem('malformed_request', 'PUT replaces the whole record: send it without Content-Range')
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw unsupported('the body must be sent without Content-Encoding')
  }
  const given = headers['content-type']
  if (given === undefined && optional) return
  if (given === undefined) throw unsupported(`the request has no Content-Type; it must be ${list(mediaTypes)}`)
  if (countHeader(rawHeaders, 'content-type') > 1) throw unsupported('the request has more than one Content-Type')
  const mediaType = MEDIA_TYPE.exec(given.toLowerCase())?.[1]
  if (mediaType === undefined || !mediaTypes.includes(mediaType)) {
    throw unsupported(`Content-Type must be ${list(mediaTypes)}, without parameters other than charset=utf-8`)
  }
}

function readBytes(exchange: Exchange, policy: BodyPolicy, bodies: ReceiveBudget): Promise<Uint8Array> {
  const { request } = exchange
  if (request.readableEnded && !isBodyless(exchange)) {
    throw new Error('the body was read by something in front of the service; mount the service before body parsers')
  }
  return new Promise((resolve, reject) => {
    const length = Number(request.headers['content-length'] ?? policy.limit)
    const body = new Gathered()
    const room = bodies.begin(length, (problem) => giveUp(problem))
    exchange.body = room
    const hasArrived = request.complete
    const isOver = () => exchange.failBody === undefined
    const stop = () => {
      exchange.failBody = undefined
      if (!hasArrived) exchange.bodyEnded = performance.now()
      returnRoom(exchange)
    }
    const fail = (problem: Problem) => {
      stop()
      body.drop()
      room.release()
      reject(problem)
    }
    /** Fails a body whose rest is not wanted. */
    const giveUp = (problem: Problem) => {
      exchange.mustClose = true
      fail(problem)
    }
    exchange.failBody = fail
    request.on('data', (chunk: Buffer) => {
      if (isOver()) return
      const capacity = body.capacityWith(chunk, length)
      const isTooLarge = body.size + chunk.length > policy.limit
      const problem = isTooLarge ? tooLarge(policy) : room.take(capacity, chunk.length)
      if (problem) giveUp(problem)
      else body.add(chunk, capacity)
    })
    const finish = () => {
      if (isOver()) return
      room.complete()
      stop()
      resolve(body.bytes())
    }
    const lose = () => {
      if (!isOver()) fail(new Problem('malformed_request', 'the connection ended before the body'))
    }
    request.on('end', finish)
    // Emitted whenever the connection ends; without a listener, Node drops the error.
    request.on('close', lose)
    if (request.readableEnded) finish()
    else if (request.destroyed) lose()
    askForBody(exchange)
  })
}

/** Joins chunks as they arrive: each of them, kept as it is, takes hundreds of bytes more, and a client may send chunks of one byte. */
class Gathered {
  #buffer: Uint8Array = NO_BYTES
  size = 0

  /** The bytes of memory for what has arrived and this chunk, if the whole has at most `length` bytes. */
  capacityWith(chunk: Uint8Array, length: number): number {
    const end = this.size + chunk.length
    const capacity = this.#buffer.length
    if (this.size === 0 || end <= capacity) return Math.max(end, capacity)
    return Math.min(length, Math.max(end, 2 * capacity))
  }

  add(chunk: Uint8Array, capacity: number): void {
    if (this.size === 0) this.#buffer = chunk
    else {
      if (capacity > this.#buffer.length) this.#buffer = enlarged(this.#buffer, capacity)
      this.#buffer.set(chunk, this.size)
    }
    this.size += chunk.length
  }

  drop(): void {
    this.#buffer = NO_BYTES
  }

  bytes(): Uint8Array {
    return this.size === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.size)
  }
}

function enlarged(buffer: Uint8Array, length: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(length)
  larger.set(buffer)
  return larger
}

/** Sends `100 Continue` if the client waits for it. */
export function askForBody(exchange: Exchange): void {
  if (!exchange.awaitsContinue) return
  exchange.awaitsContinue = false
  exchange.response.writeContinue()
}

function isBodyless({ request: { headers } }: Exchange): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

function tooLarge({ limit, items }: BodyPolicy): Problem {
  const help = items === undefined ? '' : '; if it is an array, send fewer items at once'
  return new Problem('body_too_large', `the body must be at most ${limit} bytes${help}`)
}

function list(mediaTypes: readonly string[]): string {
  return mediaTypes.join(' or ')
}
