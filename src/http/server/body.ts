import { type JsonBody, readJsonBody } from '../../foundation/json-body.js'
import { Problem } from '../../foundation/problem.js'
import type { Exchange } from './exchange.js'
import { countHeader } from './replies/headers.js'
import type { BodyPolicy } from '../route.js'

const MEDIA_TYPE =
  /^([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*charset=(?:utf-?8|"utf-?8"))?;?$/

/**
 * Checks the head of a request against `policy`, then reads its body as a JSON object, or an array of objects where accepted.
 * @throws Problem `body_too_large`, `unsupported_media_type` or `malformed_body`, or the problem of a connection that fails meanwhile
 */
export async function readBody(exchange: Exchange, policy: BodyPolicy): Promise<JsonBody> {
  const { request } = exchange
  if (Number(request.headers['content-length'] ?? 0) > policy.limit) throw tooLarge(exchange, policy)
  if (policy.blank && isBodyless(exchange)) return NOTHING
  requireReadable(exchange, policy)
  const bytes = await readBytes(exchange, policy)
  return policy.blank && bytes.length === 0 ? NOTHING : readJsonBody(bytes, policy.items, policy.within)
}

const NOTHING = readJsonBody(Buffer.from('{}'))

/** The response header that lists the accepted media types of a method; `Accept` for others. */
const ADVERTISED: Readonly<Record<string, string>> = { PATCH: 'Accept-Patch', POST: 'Accept-Post' }

function requireReadable({ request }: Exchange, { mediaTypes, optional }: BodyPolicy): void {
  const { headers, rawHeaders, method = '' } = request
  const unsupported = (detail: string) =>
    new Problem('unsupported_media_type', detail, {
      headers: { [ADVERTISED[method] ?? 'Accept']: mediaTypes.join(', ') },
    })
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

function readBytes(exchange: Exchange, policy: BodyPolicy): Promise<Uint8Array> {
  const { request } = exchange
  if (request.readableEnded && !isBodyless(exchange)) {
    throw new Error('the body was read by something in front of the service; mount the service before body parsers')
  }
  return new Promise((resolve, reject) => {
    const body = gather(policy.limit)
    const hasArrived = request.complete
    const isOver = () => exchange.failBody === undefined
    const stop = () => {
      exchange.failBody = undefined
      if (!hasArrived) exchange.bodyEnded = performance.now()
    }
    const fail = (problem: Problem) => {
      stop()
      reject(problem)
    }
    exchange.failBody = fail
    request.on('data', (chunk: Buffer) => {
      if (isOver()) return
      if (!body.add(chunk)) fail(tooLarge(exchange, policy))
    })
    const finish = () => {
      if (isOver()) return
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
function gather(limit: number) {
  let buffer: Buffer = Buffer.of()
  let size = 0
  return {
    /** Returns false for a chunk that exceeds the limit. */
    add(chunk: Buffer): boolean {
      const end = size + chunk.length
      if (end > limit) return false
      if (size === 0) buffer = chunk
      else {
        if (end > buffer.length) buffer = enlarged(buffer, Math.min(limit, Math.max(end, 2 * buffer.length)))
        buffer.set(chunk, size)
      }
      size = end
      return true
    },
    bytes: () => buffer.subarray(0, size),
  }
}

function enlarged(buffer: Buffer, length: number): Buffer {
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

function tooLarge(exchange: Exchange, { limit, items }: BodyPolicy): Problem {
  exchange.mustClose = true
  const help = items === undefined ? '' : '; if it is an array, send fewer items at once'
  return new Problem('body_too_large', `the body must be at most ${limit} bytes${help}`)
}

function list(mediaTypes: readonly string[]): string {
  return mediaTypes.join(' or ')
}
