import { hash } from 'node:crypto'
import { type EncodedText, replyEncoded } from '../../http/headers/encodings.js'
import type { Context, Reply } from '../../http/route.js'

/** A static file. Its tag is its edition, which changes whenever the file changes. */
export interface KeptFile extends EncodedText {
  /** Its media type. */
  readonly type: string
}

/** Computes the edition of a file from its contents. */
export function editionOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** Returns the URL of a file; every edition has its own. */
export function addressOf(path: string, edition: string): string {
  return `${path}?v=${edition}`
}

/** Responds with a file, compressed if the client accepts that. Browsers may cache it indefinitely if the URL names the edition. */
export function keptFile(file: KeptFile, context: Context): Promise<Reply> {
  const isNamed = context.search === `v=${file.tag}`
  const cacheControl = isNamed ? 'public, max-age=31536000, immutable' : 'no-cache'
  return replyEncoded(file, context, { cacheControl, type: file.type })
}
