import { hash } from 'node:crypto'
import { type EncodedText, encodedText } from '../http/encodings.js'
import { isKnown } from '../http/entity-tags.js'
import type { Context, Reply } from '../http/route.js'

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
export async function keptFile(file: KeptFile, context: Context): Promise<Reply> {
  const { etag, headers, body } = encodedText(file, context)
  const isNamed = context.search === `v=${file.tag}`
  const caching = { ETag: etag, 'Cache-Control': isNamed ? 'public, max-age=31536000, immutable' : 'no-cache' }
  if (isKnown(context.headers, etag)) return { status: 304, headers: { ...caching, Vary: headers.Vary } }
  return { status: 200, headers: { ...caching, ...headers, 'Content-Type': file.type }, text: await body() }
}
