import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { remember } from '../../foundation/remember.js'
import { acceptedCodings, codedTag, type Coding } from './negotiation.js'
import { isKnown } from './entity-tags.js'
import { varied } from './reply-headers.js'
import type { Context, Reply } from '../route.js'

/** Shorter texts fit into one packet anyway. */
export const MIN_LENGTH = 1024
/** Compressing for one response must be quick; a file is compressed once. */
export const QUALITY = { once: { br: 9, gzip: 9 }, response: { br: 4, gzip: 6 } } as const

/** A text that many responses have. It is compressed once for each coding. */
export interface EncodedText {
  readonly text: string | Uint8Array
  /** Without its quotes. Each coding has its own. */
  readonly tag: string
}

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)

/** Compresses a text; the options are the quality in each coding. */
export function compress(text: string | Uint8Array, coding: Coding, { br, gzip: level }: { br: number; gzip: number }) {
  return coding === 'br'
    ? compressBrotli(text, { params: { [constants.BROTLI_PARAM_QUALITY]: br } })
    : compressGzip(text, { level })
}

const compressed = remember((_: EncodedText) => new Map<Coding, Promise<Uint8Array>>())

interface Delivery {
  readonly cacheControl: string
  /** By default JSON. */
  readonly type?: string
}

/** Responds with a text in a coding that the client accepts, or with 304 if the client has it. Compressed texts are kept for other requests. */
export async function replyEncoded(
  encoded: EncodedText,
  { headers }: Pick<Context, 'headers'>,
  { cacheControl, type }: Delivery,
): Promise<Reply> {
  const [coding] = encoded.text.length < MIN_LENGTH ? [] : acceptedCodings({ headers })
  const tag = `"${encoded.tag}"`
  const etag = coding === undefined ? tag : codedTag(tag, coding)
  const common = { ETag: etag, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' }
  if (isKnown(headers, etag)) return { status: 304, headers: common }
  return {
    status: 200,
    headers: { ...common, ...(coding && { 'Content-Encoding': coding }), ...(type && { 'Content-Type': type }) },
    text: coding === undefined ? encoded.text : await inCoding(encoded, coding),
  }
}

function inCoding(encoded: EncodedText, coding: Coding): Promise<Uint8Array> {
  const known = compressed(encoded)
  const made = known.get(coding) ?? compress(encoded.text, coding, QUALITY.once)
  known.set(coding, made)
  return made
}

/** Compresses the text of a response if its client accepts that. */
export async function encodeReply(reply: Reply, context: Pick<Context, 'headers'>): Promise<Reply> {
  const { text } = reply
  if (text === undefined || text.length < MIN_LENGTH) return reply
  const [coding] = acceptedCodings(context)
  const headers = varied(reply.headers ?? {})
  if (coding === undefined) return { ...reply, headers }
  return {
    ...reply,
    headers: { ...headers, 'Content-Encoding': coding },
    text: await compress(text, coding, QUALITY.response),
  }
}
