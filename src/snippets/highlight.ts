import { hash } from 'node:crypto'
import { createHighlightThread } from './worker.js'

/** Highlights a piece of code. It always responds within the deadline, and never returns the code's own HTML. */
export type Highlight = (code: string, language: string) => Promise<string>

interface HighlighterOptions {
  /** The approximate size of the cache of HTML. */
  readonly maxBytes: number
  /** The time limit for highlighting, in ms; slower code stays plain. */
  readonly deadline?: number
  /** How long a piece of code waits behind others, in ms, before it stays plain. */
  readonly patience?: number
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

/** Escapes text with the same entities as highlight.js. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** The only markup that highlight.js may add. Without it, the HTML must equal the escaped code; otherwise it is discarded. */
const MARKUP = /<span class="[\w .-]+">|<\/span>/g

const ENTRY_OVERHEAD = 200

/** A least recently used cache, bounded by size. */
function createCache(maxBytes: number) {
  const entries = new Map<string, string | undefined>()
  let bytes = 0
  const size = (html: string | undefined): number => ENTRY_OVERHEAD + 2 * (html?.length ?? 0)

  return {
    has: (key: string): boolean => entries.has(key),
    take(key: string): string | undefined {
      const html = entries.get(key)
      entries.delete(key)
      entries.set(key, html)
      return html
    },
    put(key: string, html: string | undefined): void {
      if (size(html) > maxBytes || entries.has(key)) return
      entries.set(key, html)
      bytes += size(html)
      for (const [oldest, value] of entries) {
        if (bytes <= maxBytes) return
        entries.delete(oldest)
        bytes -= size(value)
      }
    },
  }
}

/** The time limit for highlighting one piece of code. */
export const HIGHLIGHT_DEADLINE_MS = 1_000

/**
 * Creates the function behind `highlighted`: HTML with highlight.js classes for a known language or alias; escaped text for other languages and for
 * slow code. It never fails.
 */
export function createHighlighter({
  maxBytes,
  deadline = HIGHLIGHT_DEADLINE_MS,
  patience = 2_000,
}: HighlighterOptions): Highlight {
  const cache = createCache(maxBytes)
  const highlight = createHighlightThread({ deadline, patience })

  return async (code, language) => {
    const key = hash('sha256', `${language}\0${code}`, 'base64')
    if (cache.has(key)) return cache.take(key) ?? escapeHtml(code)

    const plain = escapeHtml(code)
    const outcome = await highlight(code, language)
    const html = 'html' in outcome && outcome.html.replace(MARKUP, '') === plain ? outcome.html : undefined
    // Slow code is remembered without HTML, because otherwise every request for it would terminate a thread.
    if ('html' in outcome || outcome.none === 'slow') cache.put(key, html)
    return html ?? plain
  }
}
