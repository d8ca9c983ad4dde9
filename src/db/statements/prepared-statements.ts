import { createHash } from 'node:crypto'
import type { Cell } from '../../fields/cell.js'
import type { Statement } from '../database.js'

/** A statement rendered for one request: its text and values. */
export interface Rendered {
  readonly text: string
  readonly values: readonly Cell[]
  readonly kind: Required<Pick<Statement, 'retry' | 'quick'>> & Pick<Statement, 'locks'>
  readonly raw?: number | undefined
  /** The record that it changes. */
  readonly record?: string | undefined
}

/** Adds the record that a statement changes. Copies each property by name, because a spread takes longer. */
export function ofRecord({ text, values, kind, raw }: Rendered, id: readonly string[]): Rendered {
  return { text, values, kind, raw, record: id.join('/') }
}

/** Statistics of the cached texts of all resources of an application. */
export interface StatementCounts {
  kept: number
  /** Texts that were evicted. */
  unkept: number
  /**
   * Incremented when column types may have changed. It is part of statement names, because statements prepared before have parameters of the old
   * types.
   */
  generation: number
}

/** A cached text with its recent uses. It holds no value of a request. */
interface CacheEntry {
  readonly text: string
  uses: number
  isCached: boolean
  hash: string | undefined
  name: string | undefined
  generation: number
}

/** A rendered statement and its cached text. It may be sent several times. */
export interface PreparedStatement {
  readonly entry: CacheEntry
  readonly rendered: Rendered
}

/** A maximum, so that a text that is no longer used is evicted after a few rounds. */
const MAX_USES = 64
/** A statement is prepared from its second use on, so that one-off statements leave nothing behind on the server. */
const PREPARE_FROM_USE = 2

/** Caches a limited number of texts and evicts the least recently used ones. The text itself is the key. */
export function createPreparedStatements(resource: string, counts: StatementCounts, maxEntries: number) {
  const cache = new Map<string, CacheEntry>()

  /** Goes through the texts, oldest first, and halves their use counts until one is hardly used, which is evicted (the GCLOCK algorithm). */
  const evict = (): void => {
    for (const [text, entry] of cache) {
      cache.delete(text)
      if (entry.uses <= 1) {
        entry.isCached = false
        entry.name = undefined
        counts.kept -= 1
        counts.unkept += 1
        return
      }
      entry.uses >>= 1
      cache.set(text, entry)
    }
  }

  /** Returns the cached entry for this text; a different one if this one was evicted. */
  const add = (entry: CacheEntry): CacheEntry => {
    const current = cache.get(entry.text)
    if (current) return current
    if (cache.size >= maxEntries) evict()
    entry.isCached = true
    entry.uses = 0
    cache.set(entry.text, entry)
    counts.kept += 1
    return entry
  }

  const nameOf = (entry: CacheEntry): string | undefined => {
    const { generation } = counts
    if (entry.name !== undefined && entry.generation === generation) return entry.name
    if (entry.uses < PREPARE_FROM_USE) return undefined
    entry.hash ??= createHash('sha1').update(entry.text).digest('base64url')
    entry.generation = generation
    entry.name = generation === 0 ? entry.hash : `${entry.hash}.${generation}`
    return entry.name
  }

  /** Copies each property by name, because a spread takes longer. */
  const toStatement = ({ values, kind, raw, record }: Rendered, text: string, name: string | undefined): Statement => {
    const { retry, quick, locks = false } = kind
    return { text, values, name, raw, resource, record, retry, quick, locks }
  }

  const fill = (rendered: Rendered): PreparedStatement => ({
    entry: cache.get(rendered.text) ?? newEntry(rendered.text),
    rendered,
  })

  const send = ({ entry: given, rendered }: PreparedStatement): Statement => {
    const entry = given.isCached ? given : add(given)
    if (entry.uses < MAX_USES) entry.uses += 1
    return toStatement(rendered, entry.text, nameOf(entry))
  }

  return {
    fill,
    send,
    serve: (rendered: Rendered): Statement => send(fill(rendered)),
    /** A statement that no other request would reuse. */
    once: (rendered: Rendered): Statement => toStatement(rendered, rendered.text, undefined),
  }
}

export type PreparedStatements = ReturnType<typeof createPreparedStatements>

function newEntry(text: string): CacheEntry {
  return { text, uses: 0, isCached: false, hash: undefined, name: undefined, generation: 0 }
}
