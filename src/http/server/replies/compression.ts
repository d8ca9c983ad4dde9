import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import { acceptedCodings, codedTag, type Coding } from '../../headers/negotiation.js'
import { compress, MIN_LENGTH, QUALITY } from '../../headers/encodings.js'
import { valueOf, varied, withHeader } from '../../headers/reply-headers.js'
import type { Reply } from '../../route.js'
import { textOf, type WrittenReply } from './reply.js'
import type { SendBudget } from '../../connections/send-budget.js'

type Headers = Readonly<Record<string, string>>

/** Media types of text. Events must arrive one by one, which compression would delay. */
const COMPRESSIBLE = /^(?:text\/(?!event-stream\b)|application\/(?:[^;]*[+-])?(?:json|xml|ndjson)\b)/i

/**
 * Compresses a successful response in a coding that the client accepts, if it is a stream or a text that is long enough, and says that it varies. Each
 * coding has its own ETag. Responses that a handler has encoded or must not be transformed stay as they are.
 */
export async function compressReply(
  reply: Reply,
  { method, headers: asked }: Pick<IncomingMessage, 'method' | 'headers'>,
  budget: Pick<SendBudget, 'hold' | 'release'>,
): Promise<WrittenReply> {
  const { status, headers = {}, stream } = reply
  if (status === 304) return { status, headers: varied(headers) }
  if (status >= 300 || !isCompressible(headers)) return reply
  const [coding] = acceptedCodings({ headers: asked })
  const coded = { status, headers: coding === undefined ? varied(headers) : codedHeaders(varied(headers), coding) }
  if (stream !== undefined)
    return { ...coded, stream: coding === undefined || method === 'HEAD' ? stream : compressStream(stream, coding) }
  const text = textOf(reply)
  if (text === undefined || text.length < MIN_LENGTH) return reply
  if (coding === undefined) return { ...coded, text }
  const uncodedLength = Buffer.byteLength(text)
  // It waits in memory for a thread that compresses it.
  budget.hold(uncodedLength)
  try {
    return { ...coded, text: await compress(text, coding, QUALITY.response), uncodedLength }
  } finally {
    budget.release(uncodedLength)
  }
}

function isCompressible(headers: Headers): boolean {
  return (
    COMPRESSIBLE.test(valueOf(headers, 'content-type') ?? 'application/json') &&
    valueOf(headers, 'content-encoding') === undefined &&
    // Ranges of bytes count the bytes before compression. The ranges of lists count records.
    !/^bytes\b/i.test(valueOf(headers, 'content-range') ?? '') &&
    !/\bno-transform\b/i.test(valueOf(headers, 'cache-control') ?? '')
  )
}

function codedHeaders(headers: Headers, coding: Coding): Headers {
  const tag = valueOf(headers, 'etag')
  const coded = { ...headers, 'Content-Encoding': coding }
  return tag === undefined ? coded : withHeader(coded, 'ETag', codedTag(tag, coding))
}

/** Leaving the result early ends the stream. */
async function* compressStream(stream: AsyncIterable<string>, coding: Coding): AsyncGenerator<Uint8Array, void> {
  const { br, gzip: level } = QUALITY.response
  const encoder =
    coding === 'br' ? createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: br } }) : createGzip({ level })
  // An error of the stream is thrown by the encoder.
  pipeline(Readable.from(stream), encoder, () => {})
  yield* encoder as AsyncIterable<Uint8Array>
}
