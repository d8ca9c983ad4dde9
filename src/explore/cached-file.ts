import { hash } from 'node:crypto'
import { isKnown } from '../http/entity-tags.js'
import type { Context, Reply } from '../http/route.js'

/** A static file. */
export interface KeptFile {
  /** Its media type. */
  readonly type: string
  readonly text: string | Uint8Array
  /** Changes whenever the file changes. */
  readonly edition: string
}

/** Computes the edition of a file from its contents. */
export function editionOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** Returns the URL of a file; every edition has its own. */
export function addressOf(path: string, edition: string): string {
  return `${path}?v=${edition}`
}

/** Responds with a file. Browsers may cache it indefinitely if the URL names the edition. */
export function keptFile({ type, text, edition }: KeptFile, { search, headers }: Context): Reply {
  const tag = `"${edition}"`
  const isNamed = search === `v=${edition}`
  const caching = { ETag: tag, 'Cache-Control': isNamed ? 'public, max-age=31536000, immutable' : 'no-cache' }
  if (isKnown(headers, tag)) return { status: 304, headers: caching }
  return { status: 200, headers: { ...caching, 'Content-Type': type }, text }
}
