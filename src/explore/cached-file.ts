import { hash } from 'node:crypto'
import { isKnown } from '../http/entity-tags.js'
import type { Context, Reply } from '../http/route.js'

/** A file as it is sent. */
export interface KeptFile {
  /** Its media type. */
  readonly type: string
  readonly text: string | Uint8Array
  /** What changes when the file does. */
  readonly edition: string
}

/** Of a file that says itself what it is. */
export function editionOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** The address of a file, another one as soon as the file is another. */
export function addressOf(path: string, edition: string): string {
  return `${path}?v=${edition}`
}

/** A file that browsers keep for as long as they like where its address says which edition it is. */
export function keptFile({ type, text, edition }: KeptFile, { search, headers }: Context): Reply {
  const tag = `"${edition}"`
  const isNamed = search === `v=${edition}`
  const caching = { ETag: tag, 'Cache-Control': isNamed ? 'public, max-age=31536000, immutable' : 'no-cache' }
  if (isKnown(headers, tag)) return { status: 304, headers: caching }
  return { status: 200, headers: { ...caching, 'Content-Type': type }, text }
}
